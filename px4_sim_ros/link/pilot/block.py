# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The block `pilot`: flies a mission over MAVLink, at simulated times.

It acts before the frames of a step are sent: all that the autopilot has said about the steps
before is there by then, and the autopilot gets a command before it gets the step. So a mission
is flown alike however fast or slow the run is.
"""
from __future__ import annotations

import dataclasses
import math
import sys
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.pilot.events import Course, Event, MissionError
from px4_sim_ros.link.pilot.link import PilotLink
from px4_sim_ros.link.pilot.pilot import Pilot
from px4_sim_ros.link.pilot.requests import Requests
from px4_sim_ros.link.pilot.sticks import StickLine, joy_axes, manual_control
from px4_sim_ros.model.faults.action import Faults
from px4_sim_ros.model.faults.autopilot import AutopilotOff, AutopilotPaused, LinkLost, Sticks
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.rotation import difference
from px4_sim_ros.model.scenario.situation import AutopilotState
from px4_sim_ros.model.telemetry import (
    AutopilotStatus,
    Estimate,
    SetPoint,
    TelemetryListener,
)
from px4_sim_ros.model.timebase import US_PER_S, is_due, next_due_us
from px4_sim_ros.step.block import Block, BlockConfiguration, BlockStatus, Inputs, Outputs
from px4_sim_ros.step.graph import AUTOPILOT_STATE, FAULTS
from px4_sim_ros.step.repeatability import FLOWN, OVER_US, NonRepeatability
from px4_sim_ros.step.side_topics import AUTOPILOT_STATUS, ESTIMATE, SET_POINT

# PX4 sends some thousand messages a simulated second: to look in each step would cost more.
_PERIOD_US = 20_000
_NEVER_US = sys.maxsize
_STATION = 'ground_station'
UPLOADED = 'uploaded'
_TRUTH = 'ground_truth/odom'
_SYSTEM_TYPES = {'companion': mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
                 _STATION: mavlink.MAV_TYPE_GCS}
# What comes before the second step is answered is of the autopilot of the run before.
_OTHERS_STEPS = 2


@dataclasses.dataclass(frozen=True)
class PilotParameters(Parameters):
    """Whom the pilot commands, and what comes after its mission."""

    instance: int = parameter(
        'PX4 instance; the UDP port is 14540 + instance, from 10 on 14690 + instance',
        minimum=0, maximum=99)
    at_end: str = parameter(
        'what to do when the mission is over: let time run, or hold the step',
        choices=('go_on', 'hold'))
    speaks_as: str = parameter(
        'what it says it is: PX4 takes only the loss of a ground station for a lost data link',
        choices=tuple(_SYSTEM_TYPES))
    missions: str = parameter(
        'how a multirotor flies its mission: by a command for each item, or uploaded, by the'
        ' navigator of PX4, as wings and wheels always do', choices=('commanded', UPLOADED))
    joy_axes: str = parameter(
        'which axes of a message on the topic joy are roll, pitch, yaw and throttle, from 0 on;'
        ' left and up are above 0')

    @classmethod
    def from_mapping(cls, owner: str, values: typing.Mapping[str, typing.Any]) -> typing.Self:
        """Build and validate."""
        built = super().from_mapping(owner, values)
        joy_axes(f'{owner}.joy_axes', built.joy_axes)
        return built


class _Listener:
    """Passes the telemetry of an autopilot on by way of `deliver`."""

    def __init__(self, listener: TelemetryListener, deliver: typing.Callable[..., None]) -> None:
        self._listener, self._deliver = listener, deliver

    def on_estimate(self, estimate: Estimate) -> None:
        self._deliver(self._listener.on_estimate, estimate)

    def on_set_point(self, set_point: SetPoint) -> None:
        self._deliver(self._listener.on_set_point, set_point)

    def on_status(self, status: AutopilotStatus) -> None:
        self._deliver(self._listener.on_status, status)

    def on_text(self, time_us: int, text: str) -> None:
        self._deliver(self._listener.on_text, time_us, text)


class PilotBlock(Block):
    """Flies the mission of the world."""

    is_pilot = True

    def __init__(self, configuration: BlockConfiguration[PilotParameters]) -> None:
        super().__init__(configuration)
        assert configuration.mission is not None, 'without one there is no pilot'
        self._parameters, self._mission = configuration.parameters, configuration.mission
        self._pilot: Pilot | None = None
        self._listener: TelemetryListener | None = None
        self._kept: list[tuple[typing.Callable[..., None], tuple[typing.Any, ...]]] | None = None
        self._is_station = self._parameters.speaks_as == _STATION
        self._has_faults = FAULTS in configuration.graph.nodes[configuration.name].inputs
        self._has_scenario = configuration.world.has_scenario
        self._begin()
        # What the host sets, before `reset`.
        self.on_event: typing.Callable[[Event], None] = lambda event: None
        """Is given what the pilot has achieved."""
        self.telemetry: TelemetryListener | None = None
        """Receives the telemetry of the autopilot."""
        self.on_over: typing.Callable[[str], None] = lambda failure: None
        """Is given why the mission was not flown to its end, '' if it was."""
        self.autopilot_is_here = False
        """Whether the autopilot is in this process: what it sends is there at once."""

    def reset(self) -> None:
        """Begin the mission again.

        :raises PortTakenError: the port is taken
        """
        self.close()
        self._begin()
        p = self._parameters
        self._listener = None if self.telemetry is None else _Listener(
            self.telemetry, self._deliver)
        self._pilot = Pilot(
            p.instance, self._report, self._listener, _SYSTEM_TYPES[p.speaks_as],
            uploads=p.missions == UPLOADED)
        self._requests = Requests(self._pilot.link, self._pilot.console)
        self._course = self.course(self._pilot)

    def course(self, pilot: Pilot) -> Course[None]:
        """Return its course, which is resumed every 20 ms of simulated time until it ends."""
        return pilot.course(self._mission)

    @property
    def acts_within(self) -> bool:
        """Whether it may act just now between two of several steps."""
        return not (self._is_station or self._is_by_hand or self._is_over or self._pilot is None)

    def keep_reports(self) -> None:
        """Report nothing before `pass_reports`."""
        self._kept = []

    def pass_reports(self, flush: typing.Callable[[], None]) -> None:
        """Report what was kept, after `flush`, and then at once."""
        kept, self._kept = self._kept, None
        if kept:
            flush()
            for report, arguments in kept:
                report(*arguments)

    def _deliver(self, report: typing.Callable[..., None], *arguments: typing.Any) -> None:
        if self._kept is None:
            report(*arguments)
        else:
            self._kept.append((report, arguments))

    def begin_again(self, time_us: int) -> None:
        """Begin the mission again at another time than 0."""
        self.reset()
        self._begun_us = time_us

    def _begin(self) -> None:
        self._sentence = self._failure = ''
        self._is_over = self._is_reported = self._has_reported_ignored = False
        self._sticks, self._is_by_hand = StickLine(), False
        self.over_us: int | None = None
        """The simulated time at which the end of the mission was reported."""
        self._gap: NonRepeatability | None = None
        self._begun_us = 0
        self._wakes_s: float | None = None         # up to when only the autopilot has news
        self._items = 0                    # of the mission, that are flown
        # Where the vehicle truly stood at first, and is: for what is reported, not for the mission.
        self._start_enu: Vector | None = None
        self._place_enu: Vector | None = None
        self._state = AutopilotState()
        self._first_enu: Vector | None = None      # the first estimate
        self._status: AutopilotStatus | None = None        # the last one published

    def next_act_us(self, due_us: int) -> int:
        """Return when the autopilot may hear of it, or the flight end."""
        # What a scenario does acts on it in each step: then no steps are taken without it.
        if self._is_station or self._is_by_hand or (
                self._is_over and not (self._is_reported and self._goes_on)):
            return due_us
        if self._is_over and not self._has_faults:
            return _NEVER_US
        next_us = next_due_us(due_us - 1, _PERIOD_US)
        if not self.autopilot_is_here or self._pilot is None or self._pilot.link.has_come:
            return next_us
        return max(next_us, self._wakes_us())

    def _wakes_us(self) -> int:
        """Return when its course continues although the autopilot says nothing; 0: at any time."""
        if self._wakes_s is None:
            return 0
        if self._wakes_s == math.inf:
            return _NEVER_US
        wakes_us = next_due_us(int(self._wakes_s * US_PER_S) - 2, _PERIOD_US)
        # As the course compares times: a product may be a hair off.
        return wakes_us if wakes_us / US_PER_S >= self._wakes_s else wakes_us + _PERIOD_US

    def idles(self, faults: Faults) -> tuple[int, int, int]:
        """Return the numbers with which a burst passes it while it is idle.

        :return: the number of its socket; up to when it acts only if something has come there, us;
            and the period in which it looks, us
        """
        assert self._pilot is not None, 'reset comes before the first step'
        link = self._pilot.link
        is_idle = not (faults or self._is_over or self._requests.are_open or link.has_to_ask)
        return link.number, self._wakes_us() if is_idle else 0, _PERIOD_US

    def step(self, time_us: int, inputs: Inputs) -> Outputs | None:
        """Continue the mission; return nothing, or hold the step when it is over."""
        assert self._pilot is not None, 'reset comes before the first step'
        link = self._pilot.link
        if (truth := inputs.get(_TRUTH)) is not None:
            self._place_enu = truth.position_enu
            self._start_enu = self._start_enu or self._place_enu
        if self._is_station:
            link.wake_receiver()
        faults: Faults = inputs[FAULTS] if self._has_faults else ()
        if self._has_faults:
            self._say(time_us, faults)
        if faults or self._is_by_hand:
            self._move_sticks(time_us, faults)
        if self._is_over and not self._has_scenario:
            outputs = self._after_end(time_us)
            if outputs is None or not self._has_faults:
                return outputs
        if time_us <= self._begun_us + _OTHERS_STEPS * self.configuration.world.step_us:
            link.discard()
        elif is_due(time_us, _PERIOD_US):
            link.receive_all(time_us / US_PER_S)
            self._requests.look(time_us, stands_still=any(
                isinstance(fault.action, AutopilotPaused) for fault in faults))
            if not self._is_over:
                self._go_on()
            self._look_for_others(time_us)
            if self._listener is not None:
                self._tell(self._listener, link, time_us)
        if not self._has_faults:
            return {}
        if self._is_over and self._has_scenario and not self._is_reported:
            self._after_end(time_us)
        return {AUTOPILOT_STATE: self._state_of(link)}

    def _tell(self, listener: TelemetryListener, link: PilotLink, time_us: int) -> None:
        """Tell of mode and flags, when they have changed, and of texts that have come."""
        status = AutopilotStatus(
            time_us, link.mode, link.armed, link.on_ground, link.failsafe)
        # PX4 is landed when it is disarmed: its heartbeat, which says armed, is still to come.
        is_stale = not (link.armed or link.on_ground)
        if not is_stale and (self._status is None or status[1:] != self._status[1:]):
            self._status = status
            listener.on_status(status)
        for text in link.texts:
            listener.on_text(time_us, text)
        if not self._has_faults:             # the scenario takes them
            link.texts.clear()

    def _say(self, time_us: int, faults: Faults) -> None:
        """Send what a scenario says to the autopilot just now, unless the link is lost."""
        assert self._pilot is not None, 'there is one'
        link = self._pilot.link
        link.is_cut = any(isinstance(fault.action, LinkLost) for fault in faults)
        for fault in faults:
            if fault.since_us == time_us and isinstance(fault.action, AutopilotOff):
                link.forget()
            if fault.since_us == time_us:
                self._requests.ask(fault, time_us)

    def take_sticks(self, sticks: Sticks) -> None:
        """Hold what a person does with the sticks; the flight is one that does not repeat."""
        self._sticks.take(sticks)
        self._is_by_hand = True

    def _move_sticks(self, time_us: int, faults: Faults) -> None:
        assert self._pilot is not None, 'there is one'
        if self._is_by_hand and self._gap is None:
            self._gap = NonRepeatability(time_us, 'the sticks were moved by hand')
        link, sticks = self._pilot.link, self._sticks.at(time_us, faults)
        if sticks is not None:
            link.send(manual_control(link.mav, link.system_id, sticks))

    def _state_of(self, link: PilotLink) -> AutopilotState:
        """Return the autopilot's last state: the same object while it is the same."""
        state = AutopilotState(
            link.mode, link.armed, link.on_ground, link.failsafe, self._items, self._is_over,
            self._failure, tuple(link.texts), self._moved(link), self._requests.answers())
        link.texts.clear()
        if state != self._state:
            self._state = state
        return self._state

    def _moved(self, link: PilotLink) -> Vector | None:
        """Return where the autopilot takes itself for, from its first estimate on."""
        if link.position_enu is None:
            return None
        self._first_enu = self._first_enu or link.position_enu
        return difference(link.position_enu, self._first_enu)

    def _go_on(self) -> None:
        try:
            self._wakes_s = next(self._course)
        except StopIteration:
            self._is_over, self._sentence = True, 'the mission is flown'
        except MissionError as error:
            self._is_over, self._failure = True, str(error)
            self._sentence = self._failure

    def _look_for_others(self, time_us: int) -> None:
        assert self._pilot is not None, 'there is one'
        link = self._pilot.link
        if link.stranger is not None and self._gap is None:
            self._gap = NonRepeatability(
                time_us, f'MAVLink system {link.stranger} talks to the autopilot as well')
        if link.ignored and not self._has_reported_ignored:
            self._has_reported_ignored = True
            self.log(True, link.remark)

    def _after_end(self, time_us: int) -> Outputs | None:
        """Tell that it is over, in the step that is held if one is: none comes after it."""
        if not self._is_reported:
            self._is_reported, self.over_us = True, time_us
            if self._failure:
                self._tell_failure(time_us)
            self._deliver(self.on_over, self._failure)
        return {} if self._goes_on else None

    @property
    def _goes_on(self) -> bool:
        """Whether time continues after the mission: a scenario ends it, if there is one."""
        return self._has_scenario or self._parameters.at_end == 'go_on'

    def _tell_failure(self, time_us: int) -> None:
        """Tell why the mission was not flown: of a scenario that may be what is wanted."""
        if self._has_scenario:
            self._deliver(self.on_event, Event(self._failure, time_us / US_PER_S))
        else:
            self.log(True, self._failure)

    def finish(self, time_us: int) -> Outputs | None:
        """Return None: the step is held."""
        return None

    def _report(self, event: Event) -> None:
        self._sentence = event.text
        self._items += event.ends_item
        if self._place_enu is not None and self._start_enu is not None:
            event = event._replace(place_enu=difference(self._place_enu, self._start_enu))
        self._deliver(self.on_event, event)

    def holds(self) -> str:
        """Return that the mission is over, if that holds the step."""
        holds = not self._has_scenario and self._parameters.at_end == 'hold'
        return self._sentence if self._is_reported and holds else ''

    def close(self) -> None:
        """Free the port."""
        if self._pilot is not None:
            self._pilot.close()
            self._pilot = None

    def status(self) -> BlockStatus | None:
        """Return the last event of the mission and the counters."""
        if self._pilot is None:
            return None
        return BlockStatus(bool(self._failure), self._sentence, self.values() | self._heard())

    def _heard(self) -> dict[str, object]:
        """Return the autopilot's last telemetry, and how often by topic."""
        if self._pilot is None or self._status is None:
            return {}
        link = self._pilot.link
        return {AUTOPILOT_STATUS.name: self._status.text, ESTIMATE.name: link.estimates,
                SET_POINT.name: link.set_points,
                **({'ignored_datagrams': link.ignored} if link.ignored else {})}

    def values(self) -> dict[str, object]:
        """Return its report in numbers and names, also after it was closed."""
        return {'mission': self._mission.name, FLOWN: self._is_over and not self._failure,
                **({OVER_US: self.over_us} if self.over_us is not None else {}),
                **(self._gap.values() if self._gap else {})}
