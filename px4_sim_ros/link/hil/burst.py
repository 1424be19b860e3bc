# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several steps at once, in compiled code: from the reply to one step to the frames of a later one.

Between two steps the autopilot waits, so what is done there decides how fast a flight is. Plain
steps, in which motion, IMU, magnetometer and barometer act, need no Python: `burst_code` takes them
with the arrays of the blocks themselves. What a block of another kind adds is done in the last
step of a burst: after its frames were sent if that is all the same to them, else before.
"""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.link.hil import burst_code as code
from px4_sim_ros.link.hil.codec import ActuatorControls
from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.lockstep import Lockstep
from px4_sim_ros.link.hil.server import AWAKE_S, HilServer
from px4_sim_ros.model.body.demand import demand_table
from px4_sim_ros.model.body.felt import NUMBERS as IMU_NUMBERS
from px4_sim_ros.model.body.motion_memory import Z
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.sensors.barometer import Barometer, PressureMeasurement
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.sensors.magnetometer import MagneticFieldMeasurement, Magnetometer
from px4_sim_ros.model.sensors.noise import NoiseRows
from px4_sim_ros.model.sensors.sensing import sensing_record
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.step.block import Block, BlockConfiguration, Inputs, Outputs
from px4_sim_ros.step.dynamics_block import DynamicsBlock
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.model_blocks import SensorBlock

_MOST_STEPS, _BYTES = 32, 16384
_NS_PER_S = 1e9
# Of wall time, for a reply while other processes want the cores; else awake.
_LONGEST_SLEEP_NS, _AWAKE_NS = 20_000_000, round(AWAKE_S * _NS_PER_S)
_PLAIN_BLOCKS = 3          # motion, IMU and the bridge itself
_MEASURES: dict[type, int] = {
    Magnetometer: code.MEASURES_FIELD, Barometer: code.MEASURES_PRESSURE}

Coming = typing.Sequence[typing.Sequence[Block | None]]


class _Last(typing.NamedTuple):
    """The last step of a burst."""

    blocks: typing.Sequence[SensorBlock]       # that compiled code has, behind the IMU
    is_sent: bool                              # its frames are sent by it as well


_NOTHING_LAST = _Last((), True)


class Burst:
    """The steps of one burst, which ends with the step that is under way: an `Ahead`."""

    def __init__(self, bursts: Bursts, time_us: int, last: _Last, motion: Outputs) -> None:
        """Take in steps that compiled code has taken.

        :param time_us: of the step before them
        :param motion: what the motion has put out in the last step
        """
        n = bursts.numbers
        self._bursts, self._time_us = bursts, time_us
        self.begun, self.waits = n[code.BEGUN], last.is_sent
        self.models_s = n[code.MODELS_NS] / _NS_PER_S
        self.frames = bursts.arrays.out[:n[code.LENGTH]].tobytes() if last.is_sent else b''
        self.place_enu: Vector = motion['ground_truth/odom'].position_enu
        self.highest_m = float(bursts.heights_m(self.begun).max())
        last_us = time_us + self.begun * bursts.step_us
        self._last_outputs = [motion, *bursts.measured(self.begun - 1, last_us, last.blocks)]

    def outputs(self, step: int) -> list[Outputs]:
        """Return the outputs of motion and IMU, in the last step those of the others as well."""
        if step + 1 == self.begun:
            return self._last_outputs
        time_us = self._time_us + (step + 1) * self._bursts.step_us
        return [self._bursts.motion(step, time_us), *self._bursts.measured(step, time_us, ())]

    def finished(self, step: int) -> Outputs:
        """Return the command that the reply to the step before one was."""
        return self._bursts.command(step)


class Bursts:
    """Takes steps of one vehicle in compiled code."""

    def __init__(
        self, frames: HilFrames, configuration: BlockConfiguration[HilParameters],
        server: HilServer, lockstep: Lockstep,
    ) -> None:
        self._frames, self._server, self._lockstep = frames, server, lockstep
        self._vehicle, self.step_us = configuration.vehicle, configuration.world.step_us
        self._shares_core = configuration.parameters.shares_core
        self._models: list[typing.Any] = []
        self._sensors: dict[type, typing.Any] = {}       # magnetometer and barometer

    def run(self, time_us: int, coming: Coming, values: Inputs) -> Burst | None:
        """Take the steps that follow one that waits for its reply; None if that is none.

        :param coming: the blocks of each
        :raises DivergedError: the motion has left all bounds
        """
        count, last = self._plan(time_us, coming)
        number = self._server.number
        if not count or number < 0:
            return None
        self._bind(coming[0], last)
        n, noises = self.numbers, self._imu_model.noise
        drawn = min(noise.left for noise in noises)
        if drawn < count:
            count, last = drawn, _NOTHING_LAST
        n[code.SOCKET], n[code.TIME_US], n[code.COUNT] = number, time_us, count
        n[code.ACCEL_AT], n[code.GYRO_AT] = (noise.at for noise in noises)
        n[code.SEQUENCE], n[code.SYSTEM] = self._frames.sequence, self._lockstep.system
        prefix = self._frames.late_frames()
        n[code.PREFIX] = len(prefix)
        if prefix:
            self.arrays.out[:len(prefix)] = np.frombuffer(prefix, np.uint8)
        self._set_last(last, time_us + count * self.step_us, values)
        wind = values.get('wind')
        self.arrays.memory[:3] = (0.0, 0.0, 0.0) if wind is None else wind.velocity_enu
        self.arrays.memory[3:6] = self._dynamics.dynamics.force_enu
        self._fly()
        if n[code.ENDED] == code.ODD:
            self._server.put_back(self.arrays.into[:n[code.UNREAD]].tobytes())
        if not n[code.BEGUN]:
            return None
        return self._take(time_us, last if n[code.BEGUN] == count else _NOTHING_LAST)

    # Which steps they are.

    def _plan(self, time_us: int, coming: Coming) -> tuple[int, _Last]:
        """Return the number of steps that are possible, and the last one."""
        if not self._is_plain(coming[0]):
            return 0, _NOTHING_LAST
        arrival_us, count = self._frames.arrival_us(), len(coming)
        if arrival_us <= time_us + count * self.step_us:
            count = max(1, int(arrival_us - time_us) // self.step_us)
        last = coming[count - 1]
        if last[0] is not coming[0][0]:             # something acts before the motion
            return count - 1, _NOTHING_LAST
        return count, self._last(last, arrival_us <= time_us + count * self.step_us)

    def _is_plain(self, blocks: typing.Sequence[Block | None]) -> bool:
        """Return whether compiled code has the first two blocks, as they are just now."""
        dynamics, imu = blocks[:2]
        return (
            type(dynamics) is DynamicsBlock and dynamics.is_plain and self._frames.has_one_imu
            and type(imu) is SensorBlock and imu.is_plain
            and type(imu.model) is Imu and imu.model.is_plain)

    def _last(self, blocks: typing.Sequence[Block | None], arrives: bool) -> _Last:
        """Return a step with more blocks, or with measurements that arrive in it."""
        found: list[SensorBlock] = []
        for block in blocks[2:-1]:
            if type(block) is not SensorBlock or not block.is_plain or not (
                    self._frames.is_at_once(block.output)
                    and type(block.model) in _MEASURES and block.model.is_plain):
                break
            found.append(block)
        later = blocks[2 + len(found):-1]
        return _Last(found, not arrives and all(
            type(block) is SensorBlock and not self._frames.is_at_once(block.output)
            for block in later))

    # The arrays.

    def _bind(self, blocks: typing.Sequence[Block | None], last: _Last) -> None:
        """Take the arrays of the blocks of this run."""
        self._dynamics, self._imu = typing.cast('tuple[DynamicsBlock, SensorBlock]', blocks[:2])
        self._imu_model: Imu = self._imu.model
        for block in last.blocks:
            self._sensors[type(block.model)] = block.model
        models = [self._dynamics.dynamics, self._imu_model, *self._sensors.values()]
        if models == self._models:
            return
        self._models = models
        memory, plant, anchors = self._dynamics.dynamics.arrays
        self._state_at, self._size = memory.state_at, len(memory.all)
        accel, gyro = self._imu_model.noise
        self.arrays = code.Burst(
            memory.all, plant.rotors, plant.surfaces, plant.actuators, plant.feet, anchors,
            memory.work, np.zeros(IMU_NUMBERS), accel.rows, gyro.rows, demand_table(self._vehicle),
            np.zeros((_MOST_STEPS, self._size + code.ROW)), np.zeros(6), np.zeros(2),
            np.zeros(16), np.zeros(code.REALS), plant.constants, plant.packs,
            sensing_record(*models[1:]),
            np.zeros(code.NUMBERS + 2, np.int64), np.zeros(1, np.int64),
            np.zeros(_BYTES, np.uint8), np.zeros(_BYTES, np.uint8),
            np.zeros(code.FLOATS, np.float32), np.zeros(16, np.float32), np.zeros(2, np.int32))
        self.numbers = n = self.arrays.numbers.data       # quick for single numbers
        system, component = self._frames.sender
        n[code.STEP_US], n[code.SENDER] = self.step_us, component << 8 | system
        n[code.YIELDS] = self._shares_core
        self.arrays.reals[code.SUBSTEP_S], n[code.SUBSTEPS], n[code.IS_RK4] = (
            self._dynamics.dynamics.substeps)
        self._run_code = code.function_of(self.arrays)

    def _set_last(self, last: _Last, time_us: int, values: Inputs) -> None:
        """Say what there is in the last step."""
        n, measured = self.numbers, 0
        for block in last.blocks:
            measured |= _MEASURES[type(block.model)]
            noise: NoiseRows = block.model.noise
            errors = (self.arrays.field_errors if type(block.model) is Magnetometer
                      else self.arrays.pressure_errors)
            assert noise.left, 'there is always one'
            errors[:] = noise.rows[noise.at]
        if is_due(time_us, self._dynamics.battery_period_us) and self._vehicle.battery is not None:
            measured |= code.PUBLISHES_BATTERY
        battery = values.get('battery_state')
        self.arrays.reals[code.CURRENT_A] = 0.0 if battery is None else battery.current_a
        n[code.MEASURED], n[code.HOLDS_LAST] = measured, not last.is_sent

    def _fly(self) -> None:
        """Run the code, awake in waits for replies or asleep."""
        n, is_awake = self.numbers, self._server.waits_awake
        n[code.SLEEPS] = not is_awake
        n[code.LONGEST_NS] = _AWAKE_NS if is_awake else _LONGEST_SLEEP_NS
        self._run_code()

    def _take(self, time_us: int, last: _Last) -> Burst:
        """Let all blocks take in the steps that were taken."""
        n, arrays = self.numbers, self.arrays
        begun, ended = n[code.BEGUN], n[code.ENDED]
        last_us = time_us + begun * self.step_us
        for noise in self._imu_model.noise:
            noise.skip(begun)
        for block in last.blocks:
            block.model.noise.skip(1)
        motion = self._dynamics.take_steps(
            arrays.rows[:begun, :self._size], last_us, is_valid=ended != code.DIVERGED)
        if ended == code.UNSENT:
            self._server.send_rest(arrays.out[:n[code.LENGTH]].tobytes(), n[code.SENT])
        if begun > 1 or last.is_sent:
            self._frames.take_steps(
                last_us if last.is_sent else last_us - self.step_us, n[code.SEQUENCE])
        self._lockstep.take_steps(
            begun, last_us, ActuatorControls(
                last_us - self.step_us, bool(n[code.IS_ARMED]), tuple(arrays.controls.tolist())),
            n[code.SENT_NS] / _NS_PER_S, n[code.WAITED_NS] / _NS_PER_S, is_sent=last.is_sent)
        return Burst(self, time_us, last, motion)

    # What was found, by the number of the step.

    def motion(self, step: int, time_us: int) -> Outputs:
        """Return the outputs of the motion in a step before the last."""
        return self._dynamics.outputs_of(self.arrays.rows[step, :self._size], time_us)

    def measured(
        self, step: int, time_us: int, blocks: typing.Iterable[SensorBlock],
    ) -> list[Outputs]:
        """Return the measurements of the IMU and some more sensors."""
        row = self.arrays.rows[step, self._size:].tolist()
        found: list[Outputs] = [{self._imu.output: self._imu_model.sample(
            time_us, tuple(row[:3]), tuple(row[3:6]))}]
        for block in blocks:
            if type(block.model) is Magnetometer:
                field = row[code.FIELD], row[code.FIELD + 1], row[code.FIELD + 2]
                found.append({block.output: MagneticFieldMeasurement(
                    time_us, field, block.model.variance)})
            else:
                found.append({block.output: PressureMeasurement(
                    time_us, row[code.PRESSURE], block.model.variance)})
        return found

    def command(self, step: int) -> Outputs:
        """Return the command of a step."""
        return {COMMAND: self._vehicle.as_references(
            self.arrays.rows[step, 6:self._state_at].tolist())}

    def heights_m(self, begun: int) -> np.ndarray:
        """Return the height of the vehicle after each step."""
        heights: np.ndarray = self.arrays.rows[:begun, self._state_at + Z]
        return heights
