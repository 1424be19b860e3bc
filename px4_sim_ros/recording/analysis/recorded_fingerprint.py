# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a recorded flight, and whether it repeats, from what its blocks reported."""
from __future__ import annotations

import typing

from px4_sim_ros.messages.diagnostics import is_of, node_name, values_of
from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.repeatability import (
    FINGERPRINT,
    FLOWN,
    first_gap,
    gap_of_strangers,
    unrepeatable_because,
)


class RecordedFingerprint(typing.NamedTuple):
    """What a recording says of its flight as a whole."""

    fingerprint: str        # '' if it is not known
    unrepeatable: str       # why another flight may have another one, '' if none may


def read(bag: BagReader) -> RecordedFingerprint:
    """Return the fingerprint of a recording.

    :raises BagError: a file cannot be read
    """
    return of_diagnostics(bag.run, (
        bag.decode(message) for message in bag.messages()
        if message.topic == side_topics.DIAGNOSTICS.name))


def of_diagnostics(
    run: RunDescription, messages: typing.Iterable[typing.Any],
) -> RecordedFingerprint:
    last: dict[str, dict[str, str]] = {}
    end_us = 0
    for message in messages:
        end_us = stamp_us(message.header.stamp)
        for status in (s for s in message.status if is_of(run.namespace, s.name)):
            last[node_name(run.namespace, status.name)] = values_of(status)
    fingerprint = last.get('dynamics', {}).get(FINGERPRINT, '')
    is_flown = any(last.get(who, {}).get(FLOWN) == 'True' for who in ('pilot', 'scenario'))
    has_left = run.leaves_us is not None and end_us >= run.leaves_us
    shares_core = bool(run.parameters.get('hil_bridge', {}).get('shares_core', False))
    gap = first_gap(last.values()) or gap_of_strangers(run.autopilot, run.graph.nodes)
    return RecordedFingerprint(fingerprint, unrepeatable_because(
        run.autopilot, shares_core, is_flown or has_left, gap, fingerprint))
