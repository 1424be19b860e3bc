# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The error of each integrator on a recorded flight, and its cost.

The recorded commands and the recorded wind drive the dynamics alone, in open loop. An open loop
diverges from the recorded flight: at take-off the moment at which the feet leave the ground
decides all that follows. So all integrators are reset in each window, to the motion of the run's
own integrator. The error is what has accumulated since then.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.messages.truth import references_in
from px4_sim_ros.model.body.contact import reach_m
from px4_sim_ros.model.body.integrators import INTEGRATOR_NAMES, DynamicsParameters, State
from px4_sim_ros.model.errors import DivergedError
from px4_sim_ros.model.frames import Quaternion, Vector, vector
from px4_sim_ros.model.inputs import STILL, WindSample
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.recording.analysis.deviation import motion_deviation
from px4_sim_ros.recording.analysis.series import FIELDS
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.spec.configuration import node_configuration
from px4_sim_ros.step.block import BlockConfiguration
from px4_sim_ros.step.driven import DrivenRunner
from px4_sim_ros.step.dynamics_block import DynamicsBlock
from px4_sim_ros.step.graph import COMMAND

WINDOW_S = 1.0
# Of the reference, an rk45: far below the error of any integrator with its usual tolerances, and
# some thousand times the rounding.
TOLERANCE = 1e-12

_ODOMETRY = FIELDS['ground_truth/odom']
_StepMotion = tuple[Vector, Quaternion, Vector, Vector]      # the fields of these
_Motion = list[_StepMotion]
_NO_VECTOR = math.nan, math.nan, math.nan
_DIVERGED: _StepMotion = _NO_VECTOR, (math.nan, *_NO_VECTOR), _NO_VECTOR, _NO_VECTOR


class RecordedTrajectory(typing.NamedTuple):
    """Inputs of the dynamics and their motion in a recorded flight, step by step."""

    references_rad_s: list[tuple[float, ...]]    # of the actuators, held in the step
    winds_enu: list[Vector]                      # held in the step
    motion: _Motion                              # recorded, at the end of the step


class IntegratorError(typing.NamedTuple):
    """The error of an integrator, and its cost."""

    errors: dict[str, np.ndarray]    # (n,) by group of `deviation.GROUPS`, at the end of each step;
                                     # infinite where the motion has diverged
    wall_s: float                    # wall time of all steps

    def maximum(self, group: str, steps: np.ndarray) -> float:
        """Return the largest error of the steps that a mask (n,) selects, 0 of none."""
        return float(self.errors[group][steps].max(initial=0.0))

    def rms(self, group: str, steps: np.ndarray) -> float:
        """Return the root mean square error of the steps that a mask (n,) selects, 0 of none."""
        values = self.errors[group][steps]
        return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


@dataclasses.dataclass(frozen=True)
class IntegratorStudy:
    """All integrators on one flight of n steps."""

    name: str                   # the folder of the bag
    own: str                    # the integrator of the run
    is_reproduced: bool         # its own integrator gives the recorded motion bit for bit
    window_s: float             # between resets; infinite for none
    time_s: np.ndarray          # (n,), simulated
    in_air: np.ndarray          # (n,), whether no foot is near the ground in the whole window
    integrators: dict[str, IntegratorError]
    reference_wall_s: float

    def real_time_factor(self, integrator: str) -> float:
        """Return simulated over wall time of the dynamics alone."""
        return float(self.time_s[-1]) / self.integrators[integrator].wall_s


def read_trajectory(bag: BagReader) -> RecordedTrajectory:
    """Return commands, wind and motion of a recording.

    The command that ends a step is held in the next one; the first has none. A wind is held
    until the next one.

    :raises BagError: a message is missing, or there is none
    """
    topics = 'actuators/command', 'wind', 'ground_truth/odom'
    found: dict[str, dict[int, typing.Any]] = {topic: {} for topic in topics}
    for message in bag.messages():
        if message.topic in found:
            found[message.topic][message.time_us] = bag.decode(message)
    commands, winds, odometry = found.values()
    rest = bag.run.recorded_vehicle.rest
    trajectory, wind_enu = RecordedTrajectory([], [], []), STILL.wind_enu
    step_us = bag.run.world.step_us
    for time_us in range(step_us, max(odometry, default=0) + 1, step_us):
        if time_us in winds:
            wind_enu = vector(FIELDS['wind']['velocity_m_s'](winds[time_us]))
        command = commands.get(time_us - step_us)
        if time_us not in odometry or (command is None and time_us > step_us):
            raise BagError(f'bag {bag.folder}: motion or command for t = {seconds_text(time_us)}'
                           ' is missing')
        trajectory.references_rad_s.append(
            references_in(command) if command else rest)
        trajectory.winds_enu.append(wind_enu)
        trajectory.motion.append(_recorded_motion(odometry[time_us]))
    if not trajectory.motion:
        raise BagError(f'bag {bag.folder}: there is no step in it')
    return trajectory


def study_integrators(
    bag: BagReader, window_s: float = WINDOW_S,
    names: typing.Sequence[str] = INTEGRATOR_NAMES,
    on_progress: typing.Callable[[int, int], None] = lambda done, of: None,
) -> IntegratorStudy:
    """Integrate a recorded flight with each integrator, with the run's other parameters.

    :param window_s: between resets; infinite for the whole flight in open loop
    :param on_progress: called after each window with the number of steps done, and of all steps
    :raises BagError: the bag cannot be used
    :raises DivergedError: the reference has diverged
    """
    trajectory = read_trajectory(bag)
    step_us = bag.run.world.step_us
    own = typing.cast(DynamicsParameters, node_configuration(
        'dynamics', bag.run.parameters['dynamics']).own)
    make = _maker(bag)
    steps = len(trajectory.motion)
    window = max(1, round(min(window_s * US_PER_S / step_us, steps)))
    motion, states = _own_motion(make(own), trajectory, window)
    runs = {name: _IntegratorRun(make, dataclasses.replace(own, integrator=name), trajectory)
            for name in names}
    reference = _IntegratorRun(make, tight(own), trajectory)
    for start, state in zip(range(0, steps, window), states):
        reference.integrate(start, window, state, must_hold=True)
        for run in runs.values():
            run.integrate(start, window, state)
        on_progress(min(start + window, steps), steps)
    exact = _arrays(reference.motion)
    return IntegratorStudy(
        str(bag.folder), own.integrator, _bits(motion) == _bits(trajectory.motion),
        window_s, np.arange(1, steps + 1) * step_us / US_PER_S,
        _in_air(bag, exact['position_m'][:, 2], window),
        {name: IntegratorError(_errors(run.motion, exact), run.wall_s)
         for name, run in runs.items()},
        reference.wall_s)


def tight(parameters: DynamicsParameters) -> DynamicsParameters:
    """Return parameters of the reference: rk45 with `TOLERANCE`, relative and absolute.

    The least error that counts has the units of the state; rotors turn a thousand times as fast
    as the rest.
    """
    return dataclasses.replace(
        parameters, integrator='rk45', relative_tolerance=TOLERANCE,
        position_tolerance_m=TOLERANCE, velocity_tolerance_m_s=TOLERANCE,
        attitude_tolerance=TOLERANCE, rate_tolerance_rad_s=TOLERANCE,
        rotor_speed_tolerance_rad_s=1e3 * TOLERANCE, battery_tolerance=TOLERANCE, min_step_us=1)


class _IntegratorRun:
    """The motion of an integrator so far, and its wall time."""

    def __init__(
        self, make: typing.Callable[[DynamicsParameters], _Plant],
        parameters: DynamicsParameters, trajectory: RecordedTrajectory,
    ) -> None:
        self._make, self._parameters, self._trajectory = make, parameters, trajectory
        self.motion: _Motion = []
        self.wall_s = 0.0

    def integrate(self, start: int, steps: int, state: State, must_hold: bool = False) -> None:
        """Integrate steps from `start` on, from a state; the last window may be shorter.

        :raises DivergedError: the motion diverges and `must_hold` is set
        """
        plant = self._make(self._parameters)
        plant.dynamics.state = state.tolist()
        references = self._trajectory.references_rad_s[start:start + steps]
        winds = self._trajectory.winds_enu[start:start + steps]
        found: list[Truth] = []
        try:
            for step in zip(references, winds):
                found.append(plant.step(*step))
        except DivergedError:
            if must_hold:
                raise
        self.wall_s += plant.busy_s
        self.motion += [_true_motion(truth) for truth in found]
        self.motion += [_DIVERGED] * (len(references) - len(found))


def _own_motion(
    plant: _Plant, trajectory: RecordedTrajectory, window: int,
) -> tuple[_Motion, list[State]]:
    """Return the motion from the start to the end, and the state where each window begins."""
    motion: _Motion = []
    states: list[State] = []
    inputs = zip(trajectory.references_rad_s, trajectory.winds_enu)
    for i, (references, wind) in enumerate(inputs):
        if i % window == 0:
            states.append(plant.dynamics.state.copy())
        motion.append(_true_motion(plant.step(references, wind)))
    return motion, states


class _Plant:
    """The dynamics alone, with commands and wind that are given."""

    def __init__(self, configuration: BlockConfiguration[DynamicsParameters]) -> None:
        block = DynamicsBlock(configuration)
        self._runner = DrivenRunner(
            configuration.graph, configuration.world, {configuration.name: block})
        self.dynamics = block.dynamics

    def step(self, references: tuple[float, ...], wind_enu: Vector) -> Truth:
        """Advance by one step with these held.

        :raises DivergedError: the motion diverges
        """
        values = self._runner.step({
            COMMAND: references, 'wind': WindSample(self._runner.time_us, wind_enu)})
        truth: Truth = values['ground_truth/odom']
        return truth

    @property
    def busy_s(self) -> float:
        """The wall time of all steps."""
        return sum(self._runner.busy_s().values())


def _maker(bag: BagReader) -> typing.Callable[[DynamicsParameters], _Plant]:
    vehicle, world, graph = bag.run.recorded_vehicle, bag.run.world, bag.run.graph
    return lambda parameters: _Plant(
        BlockConfiguration('dynamics', graph, world, vehicle, parameters))


def _in_air(bag: BagReader, heights_m: np.ndarray, window: int) -> np.ndarray:
    reach = reach_m(bag.run.recorded_vehicle.ground_points_m)
    starts = np.arange(0, heights_m.size, window)
    lowest_m = np.minimum.reduceat(heights_m, starts)
    return np.repeat(lowest_m > reach, window)[:heights_m.size]


def _errors(motion: _Motion, exact: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {group: np.where(np.isnan(values), math.inf, values)
            for group, values in motion_deviation(_arrays(motion), exact).items()}


def _arrays(motion: _Motion) -> dict[str, np.ndarray]:
    return {field: np.array(column) for field, column in zip(_ODOMETRY, zip(*motion))}


def _bits(motion: _Motion) -> list[bytes]:
    return [values.tobytes() for values in _arrays(motion).values()]


def _true_motion(truth: Truth) -> _StepMotion:
    return truth.position_enu, truth.attitude, truth.velocity_flu, truth.rate_flu


def _recorded_motion(odometry: typing.Any) -> _StepMotion:
    return typing.cast(_StepMotion, tuple(read(odometry) for read in _ODOMETRY.values()))
