# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Forks `world` processes for one that starts several: what all of them import is loaded once."""
from __future__ import annotations

from px4_sim_ros.process import gc_control

if __name__ == '__main__':
    gc_control.hold()           # before what takes long to import

import contextlib
import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import typing

import setproctitle

# What `world` and its nodes import, but for rclpy.
_LOADED_ONCE = (
    'diagnostic_msgs.msg', 'lifecycle_msgs.srv', 'rcl_interfaces.srv', 'std_msgs.msg',
    'std_srvs.srv', 'type_description_interfaces.srv', 'px4_sim_ros.spec.configuration',
    'px4_sim_ros.link.hil.block', 'px4_sim_ros.messages.codecs',
    'px4_sim_ros.model.faults.actions', 'px4_sim_ros.step.dynamics_block',
    'px4_sim_ros.step.runner')
_LONGEST = 1 << 16
_PR_SET_PDEATHSIG = 1
_kept: list[ctypes.c_char_p] = []       # C code has their addresses


def _serve(starter: socket.socket) -> dict[str, typing.Any] | None:
    """Fork what the starter asks for, until it is gone.

    :returns: in a process that was forked what it is to be, None in this one
    """
    with selectors.DefaultSelector() as selector:
        selector.register(starter, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not starter:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)
                    _tell(starter, key.data,
                          os.waitstatus_to_exitcode(os.waitpid(key.data, 0)[1]))
                    continue
                asked = starter.recv(_LONGEST)
                if not asked:
                    return None
                pid = _fork()
                if not pid:
                    return json.loads(asked)
                _tell(starter, pid)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)


def _fork() -> int:
    """Fork; return in this process the id of the other, which has begun, and 0 in the other."""
    parent = os.getpid()
    has_begun, begins = os.pipe()
    pid = os.fork()
    if not pid:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:       # it was gone before the kernel was asked
            os._exit(0)
    os.close(begins)
    if pid:
        os.read(has_begun, 1)            # until the other has closed its end
    os.close(has_begun)
    return pid


def _tell(starter: socket.socket, *values: int) -> None:
    with contextlib.suppress(ConnectionError):      # it has just gone, as is read next
        starter.send(json.dumps(values).encode())


def _set_title(*words: str) -> None:
    """Let this process be known by what would have started it by itself."""
    # The title is written where the name was by which rcl calls its log files.
    name = ctypes.c_char_p.in_dll(ctypes.CDLL(None), 'program_invocation_short_name')
    name.value = os.path.basename(words[0]).encode()
    _kept.append(name)
    setproctitle.setproctitle(' '.join(words))


def main() -> int:
    """Run from the command line: one argument, the number of the socket."""
    for module in _LOADED_ONCE:
        importlib.import_module(module)
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as starter:
        process = _serve(starter)
    if process is None:
        return 0
    if process['log']:
        log = os.open(process['log'], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    sys.argv[1:] = process['arguments']
    _set_title(sys.executable, '-m', 'px4_sim_ros.ros.world', *sys.argv[1:])
    from px4_sim_ros.ros import world
    return world.main()


if __name__ == '__main__':
    sys.exit(main())
