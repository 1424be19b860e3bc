# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How long it takes from the command to the first HIL_SENSOR, in each mode."""
from __future__ import annotations

import json
import pathlib
import sys
import time
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.bench.trivial_peer import connect
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.process.child_prefix import own_module
from px4_sim_ros.process.children import Child

_STOP_TIMEOUT_S = 20.0


def first_sensor_s(mode: str, instance: int, log: pathlib.Path) -> float:
    """Return the wall time from the start of `fly` until an autopilot that waits gets a frame.

    :param log: a file for what `fly` prints
    :raises RuntimeError: it has ended, or sent nothing
    """
    started_s = time.perf_counter()
    fly = Child(f'fly --mode {mode}', own_module(
        'px4_sim_ros', 'fly', '--mode', mode, '--autopilot', 'none', '--instance',
        str(instance)), log=log)
    try:
        with connect(port_of(instance)) as link:
            parser = mavlink.MAVLink(None)
            parser.robust_parsing = True
            while data := link.recv(65536):
                if any(message.get_type() == 'HIL_SENSOR'
                       for message in parser.parse_buffer(data) or ()):
                    return time.perf_counter() - started_s
            raise RuntimeError(f'{fly.name} has closed the link before the first HIL_SENSOR')
    finally:
        fly.stop(_STOP_TIMEOUT_S)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Write JSON into the file that the last argument names; before it instance and modes."""
    instance, *modes, path = sys.argv[1:] if arguments is None else arguments
    folder = pathlib.Path(path).parent
    found = {mode: first_sensor_s(mode, int(instance), folder / f'start_{mode}.txt')
             for mode in modes}
    pathlib.Path(path).write_text(json.dumps({'start_s': found}), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
