# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Prints which functions of the package two steps of `core` call, in their order, and from where.

In those that end at 204 and 208 ms the IMU alone measures. To be run with NUMBA_DISABLE_JIT=1, so
that what is compiled otherwise is seen as well. Its argument is the instance. A line is the file,
the function, and those that it was called from, the last one first.
"""
import contextlib
import pathlib
import sys
import threading

from stand_in_autopilot import ARMED_MODE, connect

import px4_sim_ros
from px4_sim_ros.flight.core_vehicle import VehicleSetup
from px4_sim_ros.flight.core_world import CoreWorld
from px4_sim_ros.spec.configuration import load_configuration

PACKAGE = pathlib.Path(px4_sim_ros.__file__).parent
FIRST_US, LAST_US = 200_000, 208_000
CONTROLS = ARMED_MODE, [0.7] * 4 + [0.0] * 12


def main():
    """Fly two steps under the profiler."""
    stop, under_way, lines = threading.Event(), [], []

    def note(frame, event, argument):
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        if event == 'call':
            file = pathlib.Path(frame.f_code.co_filename).relative_to(PACKAGE)
            lines.append(' '.join((str(file), frame.f_code.co_qualname, *reversed(under_way))))
            under_way.append(frame.f_code.co_qualname)
        elif event == 'return' and under_way:
            under_way.pop()

    def observe(time_us, values):
        if time_us == FIRST_US:
            sys.setprofile(note)
        elif time_us == LAST_US:
            sys.setprofile(None)
            stop.set()

    instance = int(sys.argv[1])
    configuration = load_configuration(None, {
        'manager': {'speed_factor': 0.0}, 'hil_bridge': {'instance': instance}})
    with contextlib.closing(CoreWorld([VehicleSetup(configuration)], observe)) as world, \
            contextlib.closing(connect(instance, lambda time_us: CONTROLS)):
        try:
            world.run(stop)
        finally:
            sys.setprofile(None)
    print('\n'.join(lines))


main()
