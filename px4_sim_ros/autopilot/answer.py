# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the autopilot does with a sample, as machine code."""
from __future__ import annotations

import ctypes
import functools
import typing

import numpy as np

from px4_sim_ros.autopilot import commander, estimator
from px4_sim_ros.autopilot.memory import CONSTANTS, MEMORY
from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import AUTOPILOT, IS_PLAIN
from px4_sim_ros.jit.compiled import compiled
from px4_sim_ros.link.hil.codec import BAROMETER, GNSS, IMU, MAGNETOMETER


@compiled
def answer(memory: np.ndarray, constants: np.ndarray, sensors: int) -> bool:
    """Take what the sensors have measured, and set the controls unless it is a fix of GNSS.

    :param memory: of one `MEMORY`, in which the sample is
    :param constants: of one `CONSTANTS`
    :param sensors: which of them have measured; GNSS comes alone
    :return: whether the rotors may turn
    """
    m, c = memory[0], constants[0]
    if sensors & GNSS:
        estimator.gnss(m, c)
        return m.armed
    dt = estimator.since_s(m.answered_us, m.time_us)
    m.answered_us = m.time_us
    if sensors & IMU:
        estimator.imu(m, c)
    if sensors & MAGNETOMETER:
        estimator.magnetometer(m, c)
    if sensors & BAROMETER:
        estimator.barometer(m, c)
    commander.control(m, c, dt)
    m.reply_armed = int(m.armed)
    return m.armed


def answer_of(memory: np.ndarray, constants: np.ndarray) -> typing.Callable[[int], int]:
    """Return `answer` for these records, which have to stay where they are."""
    if IS_PLAIN:
        return functools.partial(answer, memory, constants)
    # Of Python's own: another thread gets the interpreter before or after it, not meanwhile.
    kind = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return functools.partial(kind(address()), *(
        ctypes.c_void_p(record.ctypes.data) for record in (memory, constants)))


@functools.cache
def address() -> int:
    """Return the address of the machine code."""
    def make(numba: typing.Any) -> tuple[typing.Any, typing.Any]:
        t, carray = numba.types, numba.carray

        def entry(memory, constants, sensors):  # type: ignore[no-untyped-def]
            return answer(carray(memory, 1), carray(constants, 1), sensors)

        return t.int64(*(t.CPointer(numba.from_dtype(d)) for d in (MEMORY, CONSTANTS)),
                         t.int64), entry

    return machine_code.load(AUTOPILOT, make)
