# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A step of the motion as machine code, which is given where its arrays are."""
from __future__ import annotations

import ctypes
import functools
import typing

import numpy as np

from px4_sim_ros.jit import machine_code
from px4_sim_ros.jit.code_cache import IS_PLAIN, MOTION
from px4_sim_ros.model.body.felt import NO_IMU
from px4_sim_ros.model.body.motion import advance
from px4_sim_ros.model.body.motion_memory import HeldInputs, Memory
from px4_sim_ros.model.body.plant import Plant

Advance = typing.Callable[[float, int, bool], int]
"""Takes the length of the substeps (s), their number, and whether the method is `rk4`.

It returns 0 if the state is not within all bounds.
"""


def advance_of(memory: Memory, plant: Plant, held: HeldInputs) -> Advance:
    """Return `motion.advance` for these arrays, which have to stay where they are."""
    if IS_PLAIN:
        return functools.partial(advance, memory.all, *plant, held.anchors, held.touches,
                                 memory.work, NO_IMU)
    where = arguments(memory, plant, held, NO_IMU)
    # Of Python's own: another thread gets the interpreter before or after it, not meanwhile.
    kind = ctypes.PYFUNCTYPE(
        ctypes.c_int64, *map(type, where), ctypes.c_double, ctypes.c_int64, ctypes.c_int64)
    return functools.partial(kind(address(plant)), *where)


def arguments(
    memory: Memory, plant: Plant, held: HeldInputs, imu: np.ndarray,
) -> tuple[typing.Any, ...]:
    """Return the first arguments of the machine code: where these arrays are, and their shapes."""
    tables = (memory.all, plant.rotors, plant.surfaces, plant.actuators, plant.feet, held.anchors,
              memory.work, imu, plant.shapes, held.touches, plant.relief, plant.paths)
    assert all(array.flags.c_contiguous for array in (*tables, plant.constants, plant.packs))
    shape = [n for table in tables for n in table.shape] + [len(plant.packs)]
    # Few arguments: each takes its time in each step.
    return (
        (ctypes.c_void_p * len(tables))(*(table.ctypes.data for table in tables)),
        (ctypes.c_int64 * len(shape))(*shape),
        ctypes.c_void_p(plant.constants.ctypes.data), ctypes.c_void_p(plant.packs.ctypes.data))


def address(plant: Plant) -> int:
    """Return the address of the machine code; it is the same for any plant."""
    return _address(plant.constants.dtype, plant.packs.dtype)


@functools.cache
def _address(constants: np.dtype[typing.Any], pack: np.dtype[typing.Any]) -> int:
    """Return the address of the machine code, for records of these types."""
    def make(numba: typing.Any) -> tuple[typing.Any, typing.Any]:
        t, carray = numba.types, numba.carray

        def entry(  # type: ignore[no-untyped-def]
            where, shape, constants, packs, substep_s, substeps, is_rk4,
        ):
            return advance(
                carray(where[0], shape[0]), carray(constants, 1),
                carray(where[1], (shape[1], shape[2])), carray(where[2], (shape[3], shape[4])),
                carray(where[3], (shape[5], shape[6])), carray(packs, shape[20]),
                carray(where[4], (shape[7], shape[8])), carray(where[8], (shape[14], shape[15])),
                carray(where[10], shape[18]), carray(where[11], shape[19]),
                carray(where[5], (shape[9], shape[10])), carray(where[9], (shape[16], shape[17])),
                carray(where[6], (shape[11], shape[12])), carray(where[7], shape[13]), substep_s,
                substeps, is_rk4 != 0)

        of_constants, of_packs = (t.CPointer(numba.from_dtype(d)) for d in (constants, pack))
        return t.int64(
            t.CPointer(t.CPointer(t.float64)), t.CPointer(t.int64), of_constants, of_packs,
            t.float64, t.int64, t.int64), entry

    return machine_code.load(MOTION, make)
