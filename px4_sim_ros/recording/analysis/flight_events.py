# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The events of a flight, changes of state, faults and warnings, as marks on its time."""
from __future__ import annotations

import collections
import dataclasses
import re
import typing

import numpy as np

from px4_sim_ros.link.hil.link_state import LinkState
from px4_sim_ros.messages.autopilot import link_text, read_status
from px4_sim_ros.messages.diagnostics import ERROR, is_of, level_of, node_name, values_of
from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.messages.stamps import line_us, stamp_us
from px4_sim_ros.model.timebase import US_PER_S, untimed
from px4_sim_ros.recording.analysis.series import AllSeries, Mark, Series, SeriesCollector
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.step import graph, side_topics

PILOT, SCENARIO, AUTOPILOT, DYNAMICS = 'pilot', 'scenario', 'autopilot', 'dynamics'
ARRIVED = 'arrived at '
# Levels of rcl_interfaces/msg/Log.
_LOG_WARNING, _LOG_ERROR = 30, 40
# At which charge PX4 warns, returns and lands by default (BAT_LOW_THR and the two after it).
LOW_CHARGES = {0.15: 'low', 0.07: 'critical', 0.05: 'an emergency'}
# A page with more marks than this is unreadable.
MOST_MARKS = 150


class SideMessage(typing.NamedTuple):
    """A decoded message of a side topic."""

    time_us: int
    content: typing.Any


@dataclasses.dataclass
class BagContents:
    """The messages that events of a flight are read from, by topic."""

    counts: collections.Counter[str]       # of messages
    side: dict[str, list[SideMessage]]     # of the side topics
    series: AllSeries                      # of the topics of the step
    span_s: tuple[float, float]


PLACES = 'vehicle_local_position', 'trajectory_setpoint'
"""The topics of PX4 itself that are shown over time: where it is, and where it is to be."""


def px4_name(topic: str) -> str:
    """Return how PX4 names a topic of its own, without namespace and version; '' for others."""
    before, _, name = topic.rpartition('/')
    return re.sub(r'_v\d+$', '', name) if before.endswith(('fmu/in', 'fmu/out')) else ''


def read_contents(bag: BagReader) -> BagContents:
    """Read a whole bag, once."""
    counts: collections.Counter[str] = collections.Counter()
    side: dict[str, list[SideMessage]] = {name: [] for name in side_topics.RECORDED}
    collector = SeriesCollector(bag.run.graph)
    first_us = last_us = None
    for message in bag.messages():
        counts[message.topic] += 1
        first_us = message.time_us if first_us is None else min(first_us, message.time_us)
        last_us = message.time_us if last_us is None else max(last_us, message.time_us)
        if message.topic in collector or (px4_name(message.topic) in PLACES and bag.is_added(
                message.topic) and bag.knows(message.topic)):
            collector.add(message.topic, message.time_us, bag.decode(message))
        elif message.topic in side:
            side[message.topic].append(SideMessage(message.time_us, bag.decode(message)))
    return BagContents(counts, side, collector.series(),
                       ((first_us or 0) / US_PER_S, (last_us or 0) / US_PER_S))


def marks(run: RunDescription, contents: BagContents) -> list[Mark]:
    """Return all marks of a flight, in the order of time."""
    side, series = contents.side, contents.series
    found = [
        *_log_marks(run, side[side_topics.LOG.name]),
        *_autopilot_marks(side[side_topics.AUTOPILOT_STATUS.name]),
        *_link_marks(_link_states(run, side)),
        *_run_marks(side[side_topics.RUN_STATUS.name]),
        *_diagnostic_marks(run, side[side_topics.DIAGNOSTICS.name]),
        *_stopped_sensor_marks(run, side[graph.ABSENCE])]
    for name, fields in series.items():
        if 'status' in fields:
            found += _fix_loss_marks(run.graph.topics[name].publisher, fields['status'])
    if 'battery_state' in series:
        found += _low_battery_marks(series['battery_state']['percentage'])
    return sorted(found, key=lambda mark: (mark.start_s, mark.end_s))


def _at(time_us: int, kind: str, who: str, text: str) -> Mark:
    return Mark(time_us / US_PER_S, time_us / US_PER_S, kind, who, text)


def _log_marks(
    run: RunDescription, log: typing.Iterable[SideMessage],
) -> typing.Iterator[Mark]:
    """Yield logs of pilot and scenario, and all warnings and errors, each text once."""
    troubles = []
    for received_us, message in log:
        if not _is_of(run, message.name):
            continue
        time_us, text = line_us(message, received_us), untimed(message.msg)
        # Loggers have the names of nodes, with their namespace: uav1.pilot.
        if message.level >= _LOG_WARNING:
            kind = 'error' if message.level >= _LOG_ERROR else 'warning'
            troubles.append((time_us, kind, message.name, text))
        elif (who := message.name.rpartition('.')[2]) in (PILOT, SCENARIO, AUTOPILOT, DYNAMICS):
            yield _at(time_us, who, message.name, text)
    yield from _each_once(troubles)


def _autopilot_marks(statuses: typing.Iterable[SideMessage]) -> typing.Iterator[Mark]:
    """Yield mode and flags of the autopilot, when they have changed."""
    for _, message in statuses:
        status = read_status(stamp_us(message.header.stamp), message)
        yield _at(status.time_us, AUTOPILOT, AUTOPILOT, status.text)


def _each_once(troubles: typing.Iterable[tuple[int, str, str, str]]) -> typing.Iterator[Mark]:
    """Yield a mark for each kind, name and text, at its first time, and how often it came."""
    times_us: dict[tuple[str, str, str], list[int]] = {}
    for time_us, kind, name, text in troubles:
        times_us.setdefault((kind, name, text), []).append(time_us)
    for (kind, name, text), (first_us, *later_us) in times_us.items():
        if later_us:
            text += (f' ({len(later_us) + 1} times, lastly at'
                     f' {later_us[-1] / US_PER_S:.3f} s)')
        yield _at(first_us, kind, name, text)


def _is_of(run: RunDescription, logger: str) -> bool:
    """Return whether a logger is of the vehicle, or of none."""
    whose = logger.rpartition('.')[0].replace('.', '/')
    return not run.namespace or whose in ('', run.namespace)


def _link_states(
    run: RunDescription, side: typing.Mapping[str, list[SideMessage]],
) -> list[tuple[int, str]]:
    """Return the states of the link, each with its time.

    Recordings up to version 6 have only texts without a stamp.
    """
    start = link_text('')
    states = [(line_us(message, received_us), message.msg.removeprefix(start))
            for received_us, message in side[side_topics.LOG.name]
            if message.name.rpartition('.')[2] == 'hil_bridge' and message.msg.startswith(start)
            and _is_of(run, message.name)]
    return states or [(m.time_us, m.content.data) for m in side[side_topics.LINK_STATE.name]]


def _link_marks(states: typing.Iterable[tuple[int, str]]) -> typing.Iterator[Mark]:
    last = ''
    for time_us, state in states:
        # How an autopilot connects and boots at first is of wall time.
        if not last and state in (LinkState.WAITING.value, LinkState.FREEWHEEL.value):
            continue
        if state != last:
            yield _at(time_us, 'link', 'hil_bridge',
                      f'{last} to {state}' if last else f'{state} at first')
        last = state


def _run_marks(statuses: typing.Iterable[SideMessage]) -> typing.Iterator[Mark]:
    """Yield the changes of the run's state between its beginning and its end."""
    last = None
    for received_us, message in statuses:
        values = values_of(message)
        state = values.get('state', '')
        time_us = (round(float(values['sim_time_s']) * US_PER_S) if 'sim_time_s' in values
                   else received_us)
        is_error = level_of(message) >= ERROR
        if last is not None and state != last and (
                is_error or (time_us and state != RunState.STOPPING)):
            text = state if message.message in ('', state) else f'{state}: {message.message}'
            yield _at(time_us, 'error' if is_error else 'simulation', 'manager', text)
        last = state


def _diagnostic_marks(
    run: RunDescription, messages: typing.Iterable[SideMessage],
) -> typing.Iterator[Mark]:
    """Return the warnings and errors in the diagnostics of nodes.

    The state of the run and that of the link have topics of their own.
    """
    troubles = []
    for _, message in messages:
        time_us = stamp_us(message.header.stamp)
        for status in message.status:
            name, level = node_name(run.namespace, status.name), level_of(status)
            if level and is_of(run.namespace, status.name) and name != 'manager' and (
                    not status.message.startswith('link ')):
                kind = 'error' if level >= ERROR else 'warning'
                troubles.append((time_us, kind, name, status.message))
    return _each_once(troubles)


def _stopped_sensor_marks(
    run: RunDescription, messages: typing.Iterable[SideMessage],
) -> typing.Iterator[Mark]:
    """Yield a mark for each interval in which a sensor was stopped."""
    times_us: dict[str, list[int]] = {}
    for _, message in messages:
        times_us.setdefault(message.frame_id, []).append(stamp_us(message.stamp))
    for name, missing_us in times_us.items():
        period_us = _period_us(run, name)
        for start_us, last_us in _intervals(np.array(sorted(missing_us)), period_us):
            end_us = last_us + period_us
            yield Mark(start_us / US_PER_S, end_us / US_PER_S, 'sensor', name,
                       f'stopped for {(end_us - start_us) / US_PER_S:.3f} s')


def _period_us(run: RunDescription, sensor: str) -> int:
    # A bag that is damaged may name what is no sensor.
    return (run.world.period_us(sensor) if sensor in run.graph.sensors
            else run.world.step_us)


def _intervals(times_us: np.ndarray, period_us: int) -> typing.Iterator[tuple[int, int]]:
    """Yield the first and the last of each series of times that are a period apart."""
    for part in np.split(times_us, np.flatnonzero(np.diff(times_us) > period_us) + 1):
        yield int(part[0]), int(part[-1])


def _fix_loss_marks(receiver: str, status: Series) -> typing.Iterator[Mark]:
    lost = status.values[:, 0] < 0
    for part in np.split(np.arange(len(lost)), np.flatnonzero(np.diff(lost)) + 1):
        if lost[part[0]]:
            # Until the next message, if there is one.
            start_s = status.time_s[part[0]]
            end_s = status.time_s[min(part[-1] + 1, len(lost) - 1)]
            yield Mark(float(start_s), float(end_s), 'sensor', receiver,
                       f'no fix for {end_s - start_s:.3f} s')


def _low_battery_marks(charge: Series) -> typing.Iterator[Mark]:
    for limit, word in LOW_CHARGES.items():
        below = np.flatnonzero(charge.values[:, 0] < limit)
        if len(below):
            at_s = float(charge.time_s[below[0]])
            yield Mark(at_s, at_s, 'battery', 'battery',
                       f'below {limit:.0%}: by the defaults of PX4 that is {word}')
