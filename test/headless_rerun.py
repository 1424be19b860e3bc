# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A Rerun without a screen."""
import contextlib
import socket
import subprocess
import time

import numpy as np

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


class Read:
    """A Rerun recording by entity: what is static, and values by time in microseconds."""

    def __init__(self, path):
        from rerun.chunk import RrdReader

        from px4_sim_ros.viewing.rerun_stream import TIMELINE
        self.static, self.values = {}, {}
        for chunk in RrdReader(path).stream().to_chunks():
            if chunk.entity_path == '/__properties':      # name and wall time of the start
                continue
            batch = chunk.to_record_batch()
            kept = self.static if chunk.is_static else self.values
            entity = kept.setdefault(chunk.entity_path, {})
            if not chunk.is_static:
                # What is not static is on the simulated timeline, and on no other.
                assert chunk.timeline_names == [TIMELINE]
                times_us = [t.value // 1000 for t in batch.column(TIMELINE)]
            for name in batch.schema.names:
                if ':' in name:
                    rows = batch.column(name).to_pylist()
                    if chunk.is_static:
                        entity[name] = rows[0]
                    else:
                        entity.setdefault(name, {}).update(
                            (t, row) for t, row in zip(times_us, rows) if row is not None)

    def of(self, entity, component):
        """Return times in microseconds, in their order, and an array of values."""
        found = self.values[entity][component]
        times_us = sorted(found)
        return times_us, np.array([found[t] for t in times_us])

    def scalars(self, entity):
        return self.of(entity, 'Scalars:scalars')
