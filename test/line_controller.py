# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight controller on a pseudo terminal: the embedded autopilot, in a time of its own.

As a program (`line_controller.py INSTANCE LINK`); LINK becomes the name of the terminal.
"""
import contextlib
import os
import pathlib
import select
import sys
import time
import tty

from pymavlink.dialects.v20 import common as mavlink

PERIOD_S = 0.005


@contextlib.contextmanager
def terminal(link):
    """Make a pseudo terminal whose name is `link`; yield the number of its other end."""
    own, other = os.openpty()
    try:
        tty.setraw(own)
        tty.setraw(other)
        pathlib.Path(link).unlink(missing_ok=True)
        pathlib.Path(link).symlink_to(os.ttyname(other))
        yield own
    finally:
        os.close(own)
        os.close(other)


def main(instance, link):
    """Fly what comes on the line, until a signal comes."""
    from px4_sim_ros.autopilot.process import Autopilot
    from px4_sim_ros.spec.files import load_vehicle
    autopilot = Autopilot(instance, load_vehicle('iris'))
    mav, replies = mavlink.MAVLink(None, instance + 1, 1), mavlink.MAVLink(None)
    line = mavlink.MAVLink(None)
    line.robust_parsing = True
    with terminal(link) as own:
        print('ready', flush=True)
        newest, next_s = None, time.monotonic()
        while True:
            if select.select([own], [], [], max(0.0, next_s - time.monotonic()))[0]:
                for message in line.parse_buffer(os.read(own, 65536)) or ():
                    if message.get_type() in ('HIL_SENSOR', 'HIL_GPS'):
                        autopilot.interface.receive()
                        answer = autopilot.answer(bytes(message.get_msgbuf()))
                        newest = (replies.parse_buffer(answer) or [newest])[-1]
                    elif message.get_type() == 'TIMESYNC':
                        os.write(own, mav.timesync_encode(
                            time.monotonic_ns(), message.ts1).pack(mav))
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + PERIOD_S
                os.write(own, mav.heartbeat_encode(2, 12, 0, 0, 4).pack(mav))
                if newest is not None:
                    os.write(own, mav.hil_actuator_controls_encode(
                        time.monotonic_ns() // 1000, newest.controls, newest.mode, 0).pack(mav))


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
