# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Prints through which functions of the package a motor fault goes, and a run of a campaign.

They fly as for a user, with what is compiled. Printed is each function that is handed what is
followed, or returns it, in the order of the first calls: its file and name. The arguments: `fault`
or `row`, and the instance.
"""
import contextlib
import pathlib
import sys
import tempfile
import threading

import yaml

import px4_sim_ros
from px4_sim_ros.campaign import campaign_report, flown
from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.campaign.plan import Campaign, Run
from px4_sim_ros.cli.command_line import main
from px4_sim_ros.model.faults.action import Fault
from px4_sim_ros.model.faults.motion import MotorThrust
from px4_sim_ros.model.scenario.scenario import Event

PACKAGE = pathlib.Path(px4_sim_ros.__file__).parent
STANDS = {'mission': 'none', 'end': {'at_s': 0.1}}
FAULT = {'motor': 1, 'share': 0.9}


def is_fault(value):
    """Return whether a value is the fault, or holds it as one of a few."""
    if isinstance(value, dict):
        return value == FAULT or 'motor_thrust' in value
    if isinstance(value, (MotorThrust, Fault, Event)):
        return True
    return type(value) in (list, tuple) and any(map(is_fault, value[:3]))


def is_row(value):
    """Return whether a value is a campaign, a run of it, or its row."""
    if isinstance(value, (Campaign, Run, Job)):
        return True
    if isinstance(value, dict):
        return bool({'vary', 'outcome', 'row'} & set(value))
    return type(value) in (list, tuple) and any(map(is_row, value[:3]))


@contextlib.contextmanager
def walked(is_followed):
    """Collect the functions of the package that are handed what is followed, or return it."""
    found = {}

    def note(frame, event, result):
        code = frame.f_code
        if not code.co_filename.startswith(str(PACKAGE)) or '<' in code.co_name:
            return
        arguments = code.co_argcount + code.co_kwonlyargcount
        if (event == 'call' and any(
                is_followed(frame.f_locals[name]) for name in code.co_varnames[:arguments]
                )) or (event == 'return' and is_followed(result)):
            file = pathlib.Path(code.co_filename).relative_to(PACKAGE)
            found[f'{file} {code.co_qualname}'] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk(followed, instance, folder):
    """Return the functions of a walk."""
    file = folder / 'file.yaml'
    if followed == 'fault':
        file.write_text(yaml.dump({**STANDS, 'events': [{'at_s': 0.05, 'motor_thrust': FAULT}]}))
        with walked(is_fault) as found, contextlib.redirect_stdout(sys.stderr):
            main(['fly', '--mode', 'core', '--scenario', str(file), '--instance', instance,
                  '--autopilot', 'none', '--node',
                  'hil_bridge=px4_sim_ros.flight.direct_bridge:DirectBridge'])
        return found
    file.write_text(yaml.dump({'scenario': STANDS, 'runs': 1, 'vary': {
        'weather.speed_m_s': {'uniform': [0, 6]}}}))
    # Under the profiler they take long to load.
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    # Its page is no part of the walk, and takes long.
    campaign_report.write_report = lambda folder: ''
    with walked(is_row) as found, contextlib.redirect_stdout(sys.stderr):
        main(['campaign', str(file), '--out', str(folder / 'out'), '--workers', '1'])
        # As in the worker, which is another process.
        flown.fly(Job.of(Campaign.load(str(file)).run(1), None, 60.0), folder, int(instance))
    return found


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as own:
        print('\n'.join(walk(*sys.argv[1:], pathlib.Path(own))))
