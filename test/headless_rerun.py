# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A Rerun without a screen."""
import contextlib
import socket
import subprocess
import time

from px4_sim_ros.viewing import rerun_target


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def listening(path):
    """Run a Rerun that takes what comes and writes it down; yield its URL and its process."""
    port = free_port()
    with subprocess.Popen(
            [rerun_target._viewer_program(), '--save', path, '--bind', '127.0.0.1', '--port',
             str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline_s = time.monotonic() + 20.0
            while True:
                try:
                    socket.create_connection(('127.0.0.1', port), 1.0).close()
                    break
                except OSError:
                    assert time.monotonic() < deadline_s and process.poll() is None
                    time.sleep(0.02)
            yield f'rerun+http://127.0.0.1:{port}/proxy', process
        finally:
            process.kill()
