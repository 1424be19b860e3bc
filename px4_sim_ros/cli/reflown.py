# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `refly` says beside its comparison: with which PX4, and whether both flights repeat."""
from __future__ import annotations

import typing

from px4_sim_ros.px4.sitl import ONE_CORE, REPEATABLE, Px4
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription


def schedule_of(run: RunDescription, *, shares_core: bool) -> str:
    """Return how the PX4 of a recording is to run when it is flown again.

    :param shares_core: whether the step is to be on its core
    """
    recorded = run.px4.get('schedule', ONE_CORE)
    if shares_core:
        return REPEATABLE
    return ONE_CORE if recorded == REPEATABLE else recorded


def differences(run: RunDescription, px4: Px4) -> list[str]:
    """Return in what a PX4 is another one than that of a recording, a sentence each.

    :raises OSError: a file of PX4 cannot be read
    """
    remarks: list[str] = []
    if not run.px4:
        remarks.append('the recording does not say which PX4 has flown, nor with which parameters'
                       ' and schedule: an older version has written it')
        return remarks
    if px4.schedule != run.px4['schedule']:
        remarks.append(
            f"PX4 runs with the schedule {px4.schedule}; it was {run.px4['schedule']}")
    now = px4.digests()
    build = [f'{name} {digest[:16]} and now {now[name][:16]}'
             for name, digest in run.px4['build'].items() if now[name] != digest]
    if build:
        remarks.append(f"another build of PX4: {', '.join(build)}")
    recorded = run.px4['parameters']
    for name, value in px4.parameters.items():
        if name not in recorded:
            remarks.append(f'{name} = {value} is set now, and was not')
        elif value != recorded[name]:
            remarks.append(f'{name} = {value} is set now; it was {recorded[name]}')
    return remarks


def repeats(which: str, bag: BagReader) -> str:
    """Return whether a recorded flight repeats, and why not, as a sentence.

    :param which: the flight, as the beginning of the sentence
    :raises BagError: a file cannot be read
    """
    fingerprint, why_not = recorded_fingerprint.read(bag)
    known = f'fingerprint {fingerprint}, ' if fingerprint else ''
    if not why_not:
        return f'{which}: {known}repeatable'
    sentence = f'{which}: {known}not repeatable: {why_not}'
    return sentence


def say(lines: typing.Iterable[str]) -> None:
    """Print sentences, each on a line."""
    for line in lines:
        print(line, flush=True)
