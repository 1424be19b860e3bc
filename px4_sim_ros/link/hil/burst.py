# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several steps at once, in compiled code: from the reply to one step to the frames of a later one.

Between two steps the autopilot waits, so what is done there decides how fast a flight is. Motion,
IMU, magnetometer and barometer need no Python: `burst_code` takes their steps with the arrays of
the blocks themselves, until another block acts. In that step a block whose outputs are in no
frames, such as the pilot, acts before they are sent, and a sensor that is late acts afterwards;
for any other block the step is left to Python. The pilot of an autopilot elsewhere is called
before the frames of a step, and the steps end there if more follows from it than commands. A
sensor whose measurement is a frame of its own, such as GNSS, is called between two steps, while
the autopilot works, and so is the wind for the next one. What PX4 says beside a reply is read
right after it. A scenario of which nothing is in force judges the steps afterwards: they end where
the motion meets a bound that it waits for.

The vehicles of a fleet take the same steps in turn, as many as all of them can, and up to where
two may collide.
"""
from __future__ import annotations

import ctypes
import functools
import math
import sys
import time
import typing

import numpy as np

from px4_sim_ros.link.hil import burst_code as code
from px4_sim_ros.link.hil.battery_link import BatteryLink
from px4_sim_ros.link.hil.boot import LOOK_PERIOD_US
from px4_sim_ros.link.hil.codec import ActuatorControls
from px4_sim_ros.link.hil.frames import TRUTH_PERIOD_US, HilFrames
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.lockstep import Lockstep
from px4_sim_ros.link.hil.server import AWAKE_S, HilServer
from px4_sim_ros.model.body import motion_code
from px4_sim_ros.model.body.demand import demand_table
from px4_sim_ros.model.body.felt import NUMBERS as IMU_NUMBERS
from px4_sim_ros.model.body.motion_memory import X, Z
from px4_sim_ros.model.faults.action import Faults
from px4_sim_ros.model.faults.motion import Change
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scenario.situation import MOST_AWAITED, AutopilotState
from px4_sim_ros.model.sensors.barometer import Barometer, PressureMeasurement
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement, Magnetometer
from px4_sim_ros.model.sensors.noise import NoiseRows
from px4_sim_ros.model.sensors.sensing import sensing_record
from px4_sim_ros.model.timebase import is_due, next_due_us
from px4_sim_ros.model.truth import BatteryStatus
from px4_sim_ros.step.block import BlockConfiguration, Called, Inputs, Outputs
from px4_sim_ros.step.dynamics_block import DynamicsBlock
from px4_sim_ros.step.graph import AUTOPILOT_STATE, COMMAND, FAULTS
from px4_sim_ros.step.model_blocks import SensorBlock, WindBlock
from px4_sim_ros.step.slot import BlockSlot

if typing.TYPE_CHECKING:       # a flight without one does without its actions
    from px4_sim_ros.link.pilot.block import PilotBlock
    from px4_sim_ros.step.scenario_block import ScenarioBlock

_MOST_STEPS, _MOST_CHANGES, _BYTES = 1000, 32, 16384
_NS_PER_S = 1e9
# Of wall time, for a reply while other processes want the cores; else awake.
_LONGEST_SLEEP_NS, _AWAKE_NS = 20_000_000, round(AWAKE_S * _NS_PER_S)
# Of wall time: no service, signal or publication waits longer for steps that are taken at once.
_LONGEST_BURST_NS = 30_000_000
_UNKNOWN = AutopilotState()
_NO_NOISE = np.zeros((1, 6))


class Hearer(typing.Protocol):
    """Reads what an autopilot says beside its replies."""

    @property
    def number(self) -> int:
        """The number of its socket."""

    def after_reply(self, time_us: int) -> None:
        """Read what was said in a step that was answered, before the next one begins."""

    def hear_ahead(self, time_us: int) -> bool:
        """Do the same within steps that are taken at once; return whether they have to end.

        Then `after_reply` is called for the same step.
        """

    def took_steps(self, last_us: int) -> None:
        """Record that all steps up to one have begun, some of them at once."""


class _Cast(typing.NamedTuple):
    """The blocks of a vehicle, by what compiled code makes of them."""

    taken: list[BlockSlot]         # motion, IMU, and of magnetometer and barometer those there
    beside: list[BlockSlot]        # their outputs are in no frames
    late: list[BlockSlot]          # sensors whose measurements are in frames of later steps only
    before: list[BlockSlot]        # act before the motion
    rest: list[BlockSlot]
    scenario: BlockSlot | None

    @property
    def others(self) -> list[BlockSlot]:
        """All that compiled code does not have."""
        return [*self.beside, *self.late, *self.before, *self.rest,
                *([] if self.scenario is None else [self.scenario])]


class _Given(typing.NamedTuple):
    """What steps to come begin with."""

    time_us: int                   # of the step before them
    number: int                    # of the socket
    values: Inputs
    changes: list[Change]
    acts_us: dict[BlockSlot, int]              # when the others act next
    within: BlockSlot | None       # of them, one that is called when it is due


class _Plan(typing.NamedTuple):
    """How many steps there are to be, and what there is in the last one."""

    steps: int
    beside: list[BlockSlot]
    late: list[BlockSlot]
    is_held: bool                  # by blocks that are none of these
    stops_at_motion: bool = False  # since the scenario acts behind it


class Burst:
    """Steps that compiled code has taken, of which the last one is under way: an `Ahead`."""

    def __init__(self, bursts: Bursts, time_us: int, plan: _Plan) -> None:
        """See what was found.

        :param time_us: of the step before them
        """
        n = bursts.numbers
        self._bursts, self._time_us = bursts, time_us
        self.begun, self.models_s = n[code.BEGUN], n[code.MODELS_NS] / _NS_PER_S
        self.last_us = time_us + self.begun * bursts.step_us
        self.taken = bursts.cast.taken
        self.is_held, self.beside, self.late = plan.is_held, plan.beside, plan.late
        self.called, self.given, self.said = bursts.called, bursts.given_values, bursts.said
        self.holding, self._is_stopped = bursts.holding, n[code.ENDED] == code.STOPPED
        # How many steps are whole, and what has acted in the last one.
        self._whole = self.begun - plan.stops_at_motion
        self.acted = self.taken[:1] if plan.stops_at_motion else self.taken
        self._last: dict[str, Outputs] = {}        # by block
        self._motion = bursts.motion_now(self.begun, self.last_us)
        self.place_enu: Vector = self._motion['ground_truth/odom'].position_enu
        """Where it was after the last of them."""

    def put_out(
        self, step: int, wants: typing.Callable[[BlockSlot], bool],
    ) -> typing.Iterator[tuple[BlockSlot, Outputs]]:
        """Yield the outputs of the blocks that were due in a step."""
        time_us = self._time_of(step)
        motion, *sensors = self.taken
        if wants(motion):
            yield motion, self.output(motion, step)
        for at_us, slot, outputs in self.called:
            if at_us == time_us and wants(slot):
                yield slot, outputs
        if step == self._whole:
            return
        scenario, pilot = self._bursts.still
        if scenario is not None and wants(scenario):
            yield scenario, {FAULTS: self._bursts.faults}
        for slot in sensors:
            if is_due(time_us, slot.period_us) and wants(slot):
                yield slot, self.output(slot, step)
        is_last = step + 1 == self.begun
        if pilot is not None and wants(pilot) and not (
                is_last and (self.is_held or pilot in self.beside)):
            yield pilot, {AUTOPILOT_STATE: self._bursts.state_after(step)}

    def output(self, slot: BlockSlot, step: int) -> Outputs:
        """Return the outputs of one of `taken` in a step."""
        if step + 1 == self.begun and slot is self.taken[0]:
            return self._motion
        return self._bursts.output(slot, self.rows[step], self._time_of(step))

    def _time_of(self, step: int) -> int:
        return self._time_us + (step + 1) * self._bursts.step_us

    def _step_of(self, time_us: int) -> int:
        return (time_us - self._time_us) // self._bursts.step_us - 1

    def values(self, name: str, steps: range) -> typing.Iterator[tuple[int, typing.Any]]:
        """Yield an output, by its name, in steps in which it is due, each since which step."""
        if name == FAULTS:
            yield steps[0], self._bursts.faults
        elif name == AUTOPILOT_STATE:
            yield steps[0], self._bursts.state_after(steps[0])
            yield from self._bursts.states_within(steps)
        elif name in self.given:
            for at_us, _, outputs in self.called:
                if name in outputs and (step := self._step_of(at_us)) in steps:
                    yield step, outputs[name]
        else:
            slot = next(s for s in self.taken if name in s.outputs)
            yield from ((step, self.output(slot, step)[name]) for step in steps)

    def columns(self, name: str, steps: range) -> BatteryStatus | None:
        """Return an output whose numbers are arrays, with one for each step: the battery."""
        if name != 'battery_state':
            return None
        return self._bursts.batteries(self.rows[steps.start:steps.stop:steps.step])

    def last(self, slot: BlockSlot) -> Outputs:
        """Return the last outputs of one of `taken`."""
        if slot.name not in self._last:
            self._last[slot.name] = self._last_of(slot)
        return self._last[slot.name]

    def _last_of(self, slot: BlockSlot) -> Outputs:
        last_us = self.last_us if slot is self.taken[0] else (
            self._time_us + self._whole * self._bursts.step_us)
        step = (last_us - last_us % slot.period_us - self._time_us) // self._bursts.step_us - 1
        return self.output(slot, step) if step >= 0 else {}

    def finished(self, step: int) -> Outputs:
        """Return the command that the reply to the step before one was."""
        return self._bursts.command(self.rows[step])

    @property
    def rows(self) -> np.ndarray:
        """All numbers of each of the steps."""
        return self._bursts.arrays.rows[:self.begun]

    @property
    def is_in_rows(self) -> bool:
        """Whether each that was called has measured as before."""
        return all(outputs and outputs.keys() <= self.given.keys()
                   for _, _, outputs in self.called)

    def values_of(self, row: np.ndarray) -> Outputs:
        """Return all values with the numbers of a row, and some of those that are called."""
        values: Outputs = {}
        for slot in self.taken:
            values |= self._bursts.output(slot, row, 0)            # when all are due
        if self._bursts.still[0] is not None:
            values[FAULTS] = self._bursts.faults
        return values | self.given | self.said | self._bursts.command(row)

    @property
    def frames(self) -> bytes:
        """The frames of the last step."""
        return self._bursts.frames()

    @property
    def places_enu(self) -> np.ndarray:
        """Where the vehicle was after each of the steps, (begun, 3), m."""
        return self._bursts.places_enu(self.begun)

    def pass_reports(self, flush: typing.Callable[[], None]) -> None:
        """Let the pilot report what there was in the steps, if there was anything."""
        self._bursts.pass_reports(flush)

    def end(self, *, is_held: bool) -> None:
        """Send the frames of the last step, unless it is held, and let all take in the steps."""
        if (self.beside or self._is_stopped) and not is_held:
            self._bursts.send_held()
        if self._bursts.cast.scenario is not None:
            for slot in self.taken[1:]:
                for measurement in self.last(slot).values():
                    typing.cast(SensorBlock, slot.block).keep(measurement)
        self._bursts.take_in(self._time_us, self.last_us, self._whole, is_sent=not is_held)


class Bursts:
    """Takes steps of one vehicle in compiled code."""

    def __init__(
        self, frames: HilFrames, configuration: BlockConfiguration[HilParameters],
        server: HilServer, lockstep: Lockstep, hearer: Hearer | None, battery: BatteryLink | None,
    ) -> None:
        self._hearer, self._battery_link = hearer, battery
        self._frames, self._server, self._lockstep = frames, server, lockstep
        self._name = configuration.name
        self._vehicle, self.step_us = configuration.vehicle, configuration.world.step_us
        self._shares_core = configuration.parameters.shares_core
        self._wanted = {configuration.graph.topics[name].value
                        for name in configuration.graph.nodes[configuration.name].inputs}
        self._known: list[tuple[typing.Any, typing.Any]] = []      # blocks and their models
        self._autopilot: code.InProcess | None = None
        self._is_possible = False
        self.holding: BlockSlot | None = None
        self.called: list[Called] = []
        """What was put out by those that were called, the last of it perhaps for the next step."""
        self._failure: BaseException | None = None         # of one of them
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        self._calls = [kind(functools.partial(self._when_called, act)) for act in (
            self._let_pilot_act, self._let_act, self._let_hear)]

    def prepare(
        self, time_us: int, slots: typing.Sequence[BlockSlot], until_us: int, values: Inputs,
    ) -> int:
        """Return how many steps are possible that follow one that waits for its reply.

        :param slots: all blocks of the vehicle, in their order
        :param until_us: the time of the last step there may be
        """
        given = self._server.begin_steps(time_us)
        if given is None:
            return 0
        self._bind(slots)
        if not self._is_possible:
            return 0
        self.faults: Faults = values.get(FAULTS, ())
        changes = self._dynamics.changes(self.faults)
        if changes is None or len(changes) > _MOST_CHANGES or any(
                fault.action.changes(name) for fault in self.faults for name in self._unchanged):
            return 0
        state = values.get(AUTOPILOT_STATE, _UNKNOWN)
        self._states: list[tuple[int, AutopilotState]] = [(-1, state)]
        if self._scenario is not None and not self._scenario.is_quiet(state):
            return 0
        number, self._telemetry_us = given
        acts_us = {slot: slot.next_us if slot.block is None
                   else slot.block.next_act_us(slot.next_us) for slot in self._others}
        within = self._pilot
        if within is not None and (
                within.synchronizer or not self._pilot_of(within).acts_within):
            within = None
        self._given = _Given(time_us, number, values, changes, acts_us, within)
        return self._possible(until_us)

    def set_up(self, steps: int) -> None:
        """Make ready for so many steps."""
        prefix = self._frames.late_frames()
        self._truth, self._frames.truth = self._frames.truth, None
        if prefix and self._given.number == code.HERE:
            self._server.send(prefix)
            self._frames.drop_late_frames()
            prefix = b''
        self._plan = self._plan_of(steps)
        self.holding = None
        if self._given.within is not None:
            self._pilot_of(self._given.within).keep_reports()
        self._set(self._given, self._plan, prefix)

    def took(self) -> Burst | None:
        """Return the steps that were taken, None if there are none.

        :raises DivergedError: the motion has left all bounds
        """
        n, plan, cast = self.numbers, self._plan, self.cast
        if n[code.UNREAD]:
            self._server.put_back(self.arrays.into[:n[code.UNREAD]].tobytes())
        if not n[code.BEGUN]:
            self._frames.truth = self._truth
            self.pass_reports()
            self._raise_failure()
            return None
        if n[code.ENDED] == code.MET:
            plan = _Plan(n[code.BEGUN], [], [], True, stops_at_motion=True)
        elif n[code.BEGUN] < plan.steps:
            # Those that were due and not called, since the frames were not sent as a whole.
            plan = _Plan(n[code.BEGUN], [], [
                slot for slot in cast.late if slot in self._called_before_us
                and n[code.ENDED] in (code.UNSENT, code.STOPPED)
                and is_due(n[code.TIME_US], slot.period_us)], False)
        elif n[code.HOLDS_LAST] and n[code.BEFORE_US] == n[code.TIME_US]:
            # The pilot is called within the steps, but not in one that is held.
            plan = plan._replace(beside=[slot for slot in cast.beside if (
                slot in plan.beside or slot is self._given.within)])
        try:
            return Burst(self, self._given.time_us, plan)
        except Exception:
            self.pass_reports()
            raise

    # Which steps they are.

    def _possible(self, until_us: float) -> int:
        """Return how many steps are possible up to a time."""
        cast, time_us = self.cast, self._given.time_us
        for slot, noise in zip(cast.taken[2:], self._noises[3:]):
            until_us = min(until_us, slot.next_us + (noise.left - 1) * slot.period_us)
        until_us = min(
            until_us, self._frames.arrival_us(),
            time_us + min(_MOST_STEPS, *(noise.left for noise in self._noises[:3])) * self.step_us)
        if self._shares_core:          # `Boot.look_for_gaps` looks after the reply to that step
            until_us = min(until_us, next_due_us(time_us - 1, LOOK_PERIOD_US))
        for slot, act_us in self._given.acts_us.items():
            if slot in self._called_before_us or slot is self._given.within:
                continue
            # In the step in which one acts before the motion there is no compiled motion.
            until_us = min(until_us, act_us - self.step_us * (slot in cast.before))
        return int(until_us - time_us) // self.step_us

    def _plan_of(self, steps: int) -> _Plan:
        """Return the plan of so many steps: blocks that act in the last one."""
        cast, until_us = self.cast, self._given.time_us + steps * self.step_us
        acting = [slot for slot, act_us in self._given.acts_us.items() if (
            slot is not self._given.within and (act_us == until_us or (
                slot in self._called_before_us and act_us < until_us
                and is_due(until_us - act_us, slot.period_us))))]
        is_held = self._frames.holds(until_us) or any(
            slot in cast.rest or slot is cast.scenario for slot in acting)
        # In a step that is held the scenario acts, before the sensors.
        return _Plan(
            steps, [slot for slot in acting if slot in cast.beside],
            [slot for slot in acting if slot in cast.late],
            is_held, stops_at_motion=is_held and cast.scenario is not None)

    def _cast(self, slots: typing.Sequence[BlockSlot]) -> _Cast | None:
        """Return which block is what; None if compiled code cannot have motion and IMU."""
        motion = next((i for i, slot in enumerate(slots)
                       if type(slot.block) is DynamicsBlock), None)
        if motion is None or not self._frames.has_one_imu:
            return None
        scenario = next((slot for slot in slots if slot.block and slot.block.is_judge), None)
        if scenario is None and any(FAULTS in slot.outputs for slot in slots):
            return None                    # those of a recording
        cast = _Cast([slots[motion]], [], [], list(slots[:motion]), [], scenario)
        wanted = set(self._wanted)
        for slot in slots[motion + 1:]:
            block: typing.Any = slot.block
            if slot is scenario or slot.name == self._name:
                continue
            kind = type(block.model) if type(block) is SensorBlock else None
            if kind in (Imu, Magnetometer, Barometer) and block.model.is_plain and (
                    kind is Imu or self._frames.is_at_once(block.output)):
                cast.taken.append(slot)
                wanted |= {i.topic.value for i in slot.inputs}
            elif (kind is not None and not self._frames.is_at_once(block.output)) or (
                    self._is_scan(slot, slots[motion])):
                cast.late.append(slot)
            elif block is not None and not wanted.intersection(slot.outputs) and not any(
                    i.topic.value in late.outputs for late in cast.late for i in slot.inputs):
                cast.beside.append(slot)           # before the late ones
            else:
                cast.rest.append(slot)
        if len(cast.taken) == 1:
            return None
        imu = cast.taken[1]
        is_first = type(getattr(imu.block, 'model', None)) is Imu
        return cast if is_first and imu.period_us == self.step_us else None

    def _is_scan(self, slot: BlockSlot, motion: BlockSlot) -> bool:
        """Return whether an added block needs motion and faults only, and has frames of its own."""
        return slot.block is not None and all(map(self._frames.has_own_frame, slot.outputs)) and (
            {i.topic.value for i in slot.inputs} <= {FAULTS, *motion.outputs})

    # The arrays.

    def _bind(self, slots: typing.Sequence[BlockSlot]) -> None:
        """Take the arrays of the blocks of this run."""
        known = [(slot.block, getattr(slot.block, 'model', None)) for slot in slots]
        if known == self._known and self._server.in_process is self._autopilot:
            return
        self._known, self._autopilot, cast = known, self._server.in_process, self._cast(slots)
        self._is_possible = cast is not None
        if cast is None:
            return
        blocks: list[typing.Any] = [slot.block for slot in cast.taken]
        self.cast, self._others, (motion, imu, *others) = cast, cast.others, blocks
        # How long before its time each is called.
        self._called_before_us = {
            slot: 0 for slot in cast.late if any(map(self._frames.has_own_frame, slot.outputs))} | {
            slot: self.step_us for slot in cast.before
            if type(slot.block) is WindBlock and not slot.synchronizer}
        self._they_want_battery = any(
            i.topic.value == 'battery_state' for slot in self._called_before_us
            for i in slot.inputs)
        self._dynamics: DynamicsBlock = motion
        self._scenario: ScenarioBlock | None = (
            None if cast.scenario is None else typing.cast('ScenarioBlock', cast.scenario.block))
        self._imu: Imu = imu.model
        models = {type(block.model): block.model for block in others}
        periods_us = {
            kind: slot.period_us for kind, slot in zip(models, cast.taken[2:])}
        dynamics = motion.dynamics
        # What is in force on them ends it; that on the motion it has itself, or not.
        self._unchanged = [self._name, 'pilot', *(slot.name for slot in cast.taken[1:])]
        self.still = cast.scenario, next(
            (slot for slot in cast.beside if AUTOPILOT_STATE in slot.outputs), None)
        self._pilot = next(
            (slot for slot in cast.beside if slot.block and slot.block.is_pilot), None)
        self._noises: list[NoiseRows] = [
            *self._imu.noise, dynamics.shaking, *(block.model.noise for block in others)]
        memory, plant, held = dynamics.arrays
        self._state_at, self._size = memory.state_at, len(memory.all)
        field_rows, pressure_rows = (
            models[kind].noise.rows if kind in models else _NO_NOISE
            for kind in (Magnetometer, Barometer))
        accel, gyro = self._imu.noise
        self.arrays = code.Arrays(
            memory.all, plant.rotors, dynamics.shaking.rows, np.zeros(IMU_NUMBERS), accel.rows,
            gyro.rows, np.zeros((_MOST_CHANGES, 3)), np.zeros((MOST_AWAITED, 4)),
            demand_table(self._vehicle),
            np.zeros((_MOST_STEPS, self._size + code.ROW + memory.state_at - 6)), field_rows,
            pressure_rows,
            np.zeros(32), np.zeros(code.REALS), sensing_record(self._imu, *models.values()),
            np.zeros(code.NUMBERS + 2, np.int64), np.zeros(1, np.int64),
            np.zeros(_BYTES, np.uint8), np.zeros(_BYTES, np.uint8), np.zeros(_BYTES, np.uint8),
            np.zeros(code.FLOATS, np.float32), np.zeros(16, np.float32), np.zeros(2, np.int32))
        self.numbers = n = self.arrays.numbers.data       # quick for single numbers
        system, component = self._frames.sender
        n[code.STEP_US], n[code.SENDER] = self.step_us, component << 8 | system
        n[code.YIELDS] = self._shares_core
        n[code.FIELD_US], n[code.PRESSURE_US] = (
            periods_us.get(kind, 0) for kind in (Magnetometer, Barometer))
        n[code.BATTERY_US] = motion.battery_period_us if self._vehicle.battery is not None else 0
        # Where the noise of each is next.
        self._places = [code.ACCEL_AT, code.GYRO_AT, code.SHAKING_AT, *(
            {Magnetometer: code.FIELD_AT, Barometer: code.PRESSURE_AT}[kind] for kind in models)]
        self.arrays.reals[code.ALTITUDES:code.REACH_M] = self._frames.altitudes_m
        self.arrays.reals[code.REACH_M] = motion.radius_m or 0.0
        self.arrays.reals[code.SUBSTEP_S], n[code.SUBSTEPS], n[code.IS_RK4] = dynamics.substeps
        n[code.STATE_AT], n[code.OUTPUTS_AT] = memory.state_at, memory.outputs_at
        # Known to machine code by their addresses only.
        self._of_motion = motion_code.arguments(memory, plant, held, self.arrays.imu)
        self.vehicle = code.vehicle_of(
            self.arrays, plant, self._of_motion, self._server.in_process,
            [ctypes.cast(its, ctypes.c_void_p).value or 0 for its in self._calls])
        self._functions: dict[tuple[int, ...], typing.Callable[[], int]] = {}

    def _set(self, given: _Given, plan: _Plan, prefix: bytes) -> None:
        """Say what is known before the steps."""
        n, arrays, (time_us, number, values, changes, *_) = self.numbers, self.arrays, given
        n[code.SOCKET], n[code.TIME_US], n[code.COUNT] = number, time_us, plan.steps
        n[code.HEARD] = code.UNHEARD if self._hearer is None else self._hearer.number
        n[code.BEGUN] = n[code.WAITED_NS] = n[code.MODELS_NS] = n[code.UNREAD] = 0
        n[code.LATE_BYTES], n[code.HAS_TRUTH] = 0, self._truth is not None
        n[code.ENDED] = code.DONE
        n[code.HOLDS_LAST] = plan.is_held or bool(plan.beside)
        n[code.STOPS_AT_MOTION], n[code.BOUNDS] = plan.stops_at_motion, 0
        n[code.CHANGES] = len(changes)
        for i, c in enumerate(changes):
            arrays.changes[i] = c.index, math.nan if c.factor is None else c.factor, c.value
        if self._scenario is not None and (bounds := self._scenario.bounds()):
            n[code.BOUNDS] = len(bounds)
            arrays.bounds[:len(bounds)] = bounds
            arrays.reals[code.START:code.ALTITUDES] = self._scenario.start_enu
        for place, noise in zip(self._places, self._noises):
            n[place] = noise.at
        n[code.SEQUENCE], n[code.SYSTEM] = self._frames.sequence, self._lockstep.system
        n[code.PREFIX] = n[code.LENGTH] = len(prefix)
        if prefix:
            arrays.out[:len(prefix)] = np.frombuffer(prefix, np.uint8)
        n[code.TRUTH_US] = TRUTH_PERIOD_US if self._lockstep.wants_truth else 0
        if n[code.TRUTH_US] or n[code.HAS_TRUTH]:
            arrays.reals[code.SQUARE:] = self._frames.local_frame.square_at(
                *arrays.memory[self._state_at + X:self._state_at + Z].tolist())
        wind, battery = values.get('wind'), values.get('battery_state')
        self._battery, self._values = battery, dict(values)        # as those that are called know
        arrays.memory[:3] = (0.0, 0.0, 0.0) if wind is None else wind.velocity_enu
        arrays.memory[3:6] = self._dynamics.dynamics.force_enu
        arrays.reals[code.CURRENT_A] = 0.0 if battery is None else battery.current_a
        self.called, self.given_values = [], {
            name: values[name] for slot in self._called_before_us
            for name in slot.outputs if name in values}
        self._calls_us, self._serves_us = self._next_call_us(time_us), self._next_serve_us(time_us)
        self._set_call()
        n[code.BEFORE_US] = -1 if given.within is None else given.acts_us[given.within]
        if given.within is not None:
            self._let_idle(self._pilot_of(given.within))
        is_awake = self._server.waits_awake
        n[code.SLEEPS] = not is_awake
        n[code.UNTIL_NS] = time.monotonic_ns() + _LONGEST_BURST_NS
        n[code.LONGEST_NS] = _AWAKE_NS if is_awake else _LONGEST_SLEEP_NS

    def run(self, all_of_them: typing.Sequence[Bursts]) -> None:
        """Run the machine code of vehicles that are set up; this is the first of them."""
        which = tuple(id(bursts.vehicle) for bursts in all_of_them)      # a function keeps them
        if which not in self._functions:
            self._functions[which] = code.function_of(
                [bursts.vehicle for bursts in all_of_them], self.arrays.sensing.dtype)
        self._functions[which]()

    # Blocks that are called.

    def _next_call_us(self, time_us: int) -> float:
        """Return when one is called after a time, or a frame arrives that is on its way."""
        acts_us = self._given.acts_us
        return min(
            *(max(acts_us[slot], next_due_us(time_us + before_us, slot.period_us)) - before_us
              for slot, before_us in self._called_before_us.items()),
            self._frames.frame_arrival_us(), sys.maxsize)

    def _next_serve_us(self, time_us: int) -> float:
        """Return when the state of the battery is sent after a time."""
        if self._battery_link is None:
            return math.inf
        return self._battery_link.next_us(time_us, self.numbers[code.BATTERY_US])

    def _set_call(self) -> None:
        self.numbers[code.CALL_US] = int(min(self._calls_us, self._telemetry_us, self._serves_us))

    def _when_called(self, act: typing.Callable[[int], bool], time_us: int) -> bool:
        """Let one act at a time; return whether the steps end there, as after an error."""
        try:
            return act(time_us)
        except BaseException as error:     # no other way leads through machine code
            self._failure = error
            return True

    def _let_hear(self, time_us: int) -> bool:
        """Let what PX4 has said in a step be read; return whether the steps end there."""
        return self._hearer is not None and self._hearer.hear_ahead(time_us)

    def _let_pilot_act(self, time_us: int) -> bool:
        """Let the pilot act; return whether the steps end there."""
        slot, n = self._given.within, self.numbers
        assert slot is not None, 'it is called for one only'
        pilot = self._pilot_of(slot)
        outputs = pilot.step(time_us, {
            FAULTS: self.faults, 'ground_truth/odom': self._dynamics.truth_of(
                self.arrays.rows[n[code.BEGUN] - 1, :self._size], time_us)})
        if outputs is None:
            self.holding = slot
            return True
        if n[code.SOCKET] == code.HERE:
            self._server.begin_steps(time_us)          # its commands arrive before the step
        n[code.BEFORE_US] = pilot.next_act_us(time_us + self.step_us)
        self._let_idle(pilot)
        state = outputs.get(AUTOPILOT_STATE, self._states[-1][1])
        if state is not self._states[-1][1]:
            self._states.append((n[code.BEGUN] - 1, state))
        return not pilot.acts_within or (
            self._scenario is not None and not self._scenario.is_quiet(state))

    def _let_idle(self, pilot: PilotBlock) -> None:
        n = self.numbers
        n[code.PILOT], n[code.IDLE_US], n[code.PILOT_US] = pilot.idles(self.faults)

    def state_after(self, step: int) -> AutopilotState:
        """Return the state of the autopilot after a step, as the pilot knows it."""
        return next(state for since, state in reversed(self._states) if since <= step)

    def states_within(self, steps: range) -> typing.Iterator[tuple[int, AutopilotState]]:
        """Yield the states that have come after the first of some steps, each with its step."""
        return ((since, state) for since, state in self._states if steps[0] < since <= steps[-1])

    @property
    def said(self) -> Outputs:
        """What the pilot has put out last."""
        return {} if self.still[1] is None else {AUTOPILOT_STATE: self._states[-1][1]}

    def pass_reports(self, flush: typing.Callable[[], None] = lambda: None) -> None:
        """Let the pilot report what there was in the steps, if there was anything."""
        if self._given.within is not None:
            self._pilot_of(self._given.within).pass_reports(flush)

    @staticmethod
    def _pilot_of(slot: BlockSlot) -> PilotBlock:
        return typing.cast('PilotBlock', slot.block)

    def _let_act(self, time_us: int) -> bool:
        """Let those act that are due after a step was sent; return False: the steps continue."""
        n = self.numbers
        if time_us == self._telemetry_us:
            self._telemetry_us = self._server.send_telemetry(time_us)
            if self._given.within is not None:
                n[code.BEFORE_US] = self._pilot_of(self._given.within).next_act_us(
                    time_us + self.step_us)
        if time_us == self._calls_us:
            self._let_blocks_act(time_us)
            self._calls_us = self._next_call_us(time_us)
        if self._battery_link is not None and time_us == self._serves_us:
            row = self.arrays.rows[n[code.BEGUN] - 1, :self._size]
            self._battery_link.send(
                self._dynamics.battery_of(row, time_us), self._server.peer_host)
            self._serves_us = self._next_serve_us(time_us)
        self._set_call()
        return False

    def _let_blocks_act(self, time_us: int) -> None:
        """Let sensors and the wind act, and make the frames of the sensors."""
        n, arrays = self.numbers, self.arrays
        row = arrays.rows[n[code.BEGUN] - 1, :self._size]
        inputs = self._values | (
            self._dynamics.outputs_of(row, time_us) if self._they_want_battery
            else {'ground_truth/odom': self._dynamics.truth_of(row, time_us)})
        # Which way a sensor looks that it turns.
        measured: Outputs = {'ground_truth/odom': inputs['ground_truth/odom']}
        for slot, before_us in self._called_before_us.items():
            due_us = time_us + before_us
            if due_us < self._given.acts_us[slot] or not is_due(due_us, slot.period_us):
                continue
            assert slot.block is not None, 'one that is stopped is not called'
            outputs = slot.block.step(due_us, inputs)
            assert outputs is not None, 'it has no reply to wait for'
            self.called.append(Called(due_us, slot, outputs))
            self._values |= outputs
            if before_us:
                arrays.memory[:3] = outputs['wind'].velocity_enu       # of the next step
            else:
                measured |= outputs
        frames = self._frames.after_step(time_us, measured, n[code.SEQUENCE])
        n[code.SEQUENCE] = self._frames.sequence
        if n[code.SOCKET] == code.HERE:
            self._server.send(frames)
            frames = b''
        n[code.LATE_BYTES] = len(frames)
        arrays.late[:len(frames)] = np.frombuffer(frames, np.uint8)

    def send_held(self) -> None:
        """Send the frames of the last step, which were held for others."""
        self._server.begin_steps(self.numbers[code.TIME_US])
        self.numbers[code.COUNT] = 0
        self.run([self])

    def take_in(self, time_us: int, last_us: int, whole: int, *, is_sent: bool) -> None:
        """Let all blocks take in the steps that were taken.

        :param time_us: of the step before them
        :param last_us: of the last one
        :param whole: how many were more than motion
        :param is_sent: whether its frames were sent
        """
        n, arrays = self.numbers, self.arrays
        begun = n[code.BEGUN]
        for noise in self._noises[:2]:
            noise.skip(whole)
        for place, noise in zip(self._places[2:], self._noises[2:]):
            noise.skip(n[place] - noise.at)
        if self._scenario is not None:
            self._judge(self._scenario, time_us, whole)
        if n[code.ENDED] == code.UNSENT:
            self._server.send_rest(self.frames(), n[code.SENT])
        if is_sent:
            self._frames.take_steps(last_us, n[code.SEQUENCE])
        elif begun > 1:
            # Python makes the frames of the last step again.
            self._frames.take_steps(last_us - self.step_us, n[code.SEQUENCE] - n[code.HAS_TRUTH])
            if n[code.HAS_TRUTH]:
                self._frames.truth = self._dynamics.truth_of(
                    arrays.rows[begun - 2, :self._size], last_us - self.step_us)
        else:
            self._frames.truth = self._truth
        self._server.take_steps(last_us, is_sent=is_sent)
        self._lockstep.take_steps(
            begun, last_us, ActuatorControls(
                last_us - self.step_us, bool(n[code.IS_ARMED]),
                tuple(arrays.controls[:16].tolist())),
            n[code.SENT_NS] / _NS_PER_S, n[code.WAITED_NS] / _NS_PER_S, is_sent=is_sent)
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _judge(self, scenario: ScenarioBlock, time_us: int, steps: int) -> None:
        """Let a scenario judge steps in which it has done nothing."""
        truths, battery = [], self._battery
        for step in range(0 if scenario.expects else max(0, steps - 1), steps):
            found = self._dynamics.outputs_of(
                self.arrays.rows[step, :self._size], time_us + (step + 1) * self.step_us)
            battery = found.get('battery_state', battery)
            truths.append((found['ground_truth/odom'], battery, self.state_after(step - 1)))
        scenario.look_back(truths)

    # What was found.

    def motion_now(self, begun: int, last_us: int) -> Outputs:
        """Return the outputs of the motion in the last step."""
        return self._dynamics.take_steps(
            self.arrays.rows[:begun, :self._size], last_us, self._given.values,
            self.called, is_valid=self.numbers[code.ENDED] != code.DIVERGED)

    def output(self, slot: BlockSlot, numbers: np.ndarray, time_us: int) -> Outputs:
        """Return the outputs of a block that compiled code has, with the numbers of a row."""
        block: typing.Any = slot.block
        if slot is self.cast.taken[0]:
            return self._dynamics.outputs_of(numbers[:self._size], time_us)
        row = numbers[self._size:].tolist()
        model = block.model
        if model is self._imu:
            return {block.output: model.sample(time_us, tuple(row[:3]), tuple(row[3:6]))}
        if type(model) is Magnetometer:
            field = row[code.FIELD], row[code.FIELD + 1], row[code.FIELD + 2]
            return {block.output: MagneticFieldMeasurement(time_us, field, model.variance)}
        return {block.output: PressureMeasurement(time_us, row[code.PRESSURE], model.variance)}

    def batteries(self, rows: np.ndarray) -> BatteryStatus | None:
        """Return the battery with the numbers of rows, as one whose numbers are arrays."""
        return self._dynamics.batteries_of(rows[:, :self._size])

    def command(self, numbers: np.ndarray) -> Outputs:
        """Return the command in a row."""
        return {COMMAND: self._vehicle.as_references(
            numbers[self._size + code.ROW:].tolist())}

    def frames(self) -> bytes:
        """Return the frames of the last step."""
        return self.arrays.out[:self.numbers[code.LENGTH]].tobytes()

    def places_enu(self, begun: int) -> np.ndarray:
        """Return where the vehicle was after each of the steps, (begun, 3), m."""
        return self.arrays.rows[:begun, self._state_at + X:self._state_at + Z + 1]
