# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The last that a process does: it leaves what may hang there for ever, with its exit code.

Fast DDS ends a participant while a discovery of it waits for the same lock, and Python's threads
and signals wait with it.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
import typing

from px4_sim_ros.process import signals

_LEAVE_S = 3
_FAILED = 1
_SIGEV_THREAD = 2
# None in a process of another program, which continues: then it is done at once.
_waiting: list[typing.Callable[[], object]] | None = None


class _Notice(ctypes.Structure):
    """`struct sigevent`: a function that a thread of the C library calls with a value."""

    _fields_ = [('value', ctypes.c_int64), ('number', ctypes.c_int), ('notify', ctypes.c_int),
                ('function', ctypes.c_void_p), ('rest', ctypes.c_byte * 40)]


def at_the_end(leave: typing.Callable[[], object]) -> None:
    """Call a function at the end of this process, or now if its caller continues afterwards."""
    if _waiting is None:
        leave()
    else:
        _waiting.append(leave)


def run(main: typing.Callable[[], int]) -> int:
    """Return the exit code of the function that this process is for; then it ends within 3 s."""
    global _waiting
    _waiting = []
    code = _FAILED
    try:
        code = main()
        return code
    finally:
        if _waiting:
            signals.ignore()
            _exit_in(_LEAVE_S, code)
        for leave in _waiting:
            leave()


def end(code: int) -> typing.NoReturn:
    """End this process with what Python does at its end, but for taking its objects apart.

    That takes as long as a tenth of all imports, and the kernel takes back its memory anyway.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    try:
        for stream in sys.stdout, sys.stderr:
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)             # Python says what it cannot write
    os._exit(code)


def _exit_in(seconds: int, code: int) -> None:
    """End this process after a time, if it has not ended, whatever holds the interpreter."""
    c = ctypes.CDLL(None)
    notice = _Notice(code, 0, _SIGEV_THREAD, ctypes.cast(c._exit, ctypes.c_void_p))
    timer = ctypes.c_void_p()
    times = (ctypes.c_int64 * 4)(0, 0, seconds, 0)     # interval and time, in s and ns each
    c.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(notice), ctypes.byref(timer))
    c.timer_settime(timer, 0, times, None)
