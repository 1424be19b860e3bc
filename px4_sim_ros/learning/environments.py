# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle for a learner: an action holds for some steps of the lockstep, then it is observed.

An episode is a flight of a scenario with a seed of its own, in this process and without ROS.
"""
from __future__ import annotations

import contextlib
import dataclasses
import math
import typing

import gymnasium
import numpy as np
from transforms3d.euler import euler2quat

from px4_sim_ros.autopilot.process import Autopilot
from px4_sim_ros.flight import instances
from px4_sim_ros.flight.direct_bridge import DirectBridge, DirectServer
from px4_sim_ros.flight.own_flight import given_scenario, overrides_of
from px4_sim_ros.link.hil.server import HilServer
from px4_sim_ros.model.body.motion_memory import POSITION, ROTORS
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.rotation import difference, matrix, to_body, total
from px4_sim_ros.model.timebase import US_PER_S, check_period
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.process.machine_locks import claim_instances
from px4_sim_ros.spec.blocks import block_configuration, make_blocks
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.configuration import Configuration, check_flown, load_configuration
from px4_sim_ros.spec.fleets import laid_over
from px4_sim_ros.spec.flight_spec import AS_FAST_AS_POSSIBLE, check_embedded
from px4_sim_ros.spec.parameter_files import Settings
from px4_sim_ros.step.block import Block, Inputs, Outputs
from px4_sim_ros.step.clock import LockstepClock
from px4_sim_ros.step.dynamics_block import DynamicsBlock
from px4_sim_ros.step.graph import COMMAND
from px4_sim_ros.step.runner import run_in_process

_NEVER_S = 604_800.0                   # the end of a scenario that names none
_GOES_ON: Settings = {**AS_FAST_AS_POSSIBLE, 'scenario': {'at_end': 'go_on'}}
_NUMBERS = 13                          # of an observation: see `observed`
_FAR_M, _FALL = 20.0, -10.0            # where an episode is lost, and what that costs
_START_TIMEOUT_S, _REACHED = 60.0, 0.95

if typing.TYPE_CHECKING:
    from px4_sim_ros.messages.own_block import OwnBlock

Reward = typing.Callable[[Truth, Vector], tuple[float, bool]]
"""Returns from the true motion and the target, ENU, the reward per second, and whether to end."""


def hold(truth: Truth, target_enu: Vector) -> tuple[float, bool]:
    """Reward a vehicle that holds a place; it is lost upside down, on the ground or far away."""
    distance_m = math.dist(truth.position_enu, target_enu)
    upright = matrix(truth.attitude)[8]
    is_lost = distance_m > _FAR_M or upright < 0.0 or truth.position_enu[2] < 0.1
    return 1.0 - distance_m - 0.1 * math.hypot(*truth.rate_flu), is_lost


def observed(
    position_enu: Vector, attitude: Quaternion, velocity_flu: Vector, rate_flu: Vector,
    target_enu: Vector,
) -> list[float]:
    """Return the way to the target in ENU, the attitude with w >= 0, velocity and rate in FLU."""
    sign = math.copysign(1.0, attitude[0])
    return [*difference(target_enu, position_enu), *(sign * part for part in attitude),
            *velocity_flu, *rate_flu]


class FlightEnv(gymnasium.Env):
    """What both have in common; the action is within -1 and 1."""

    metadata: dict[str, typing.Any] = {'render_modes': []}  # noqa: RUF012
    mission = 'none'
    """What there is a pilot for."""
    observations: tuple[str, ...] = ('truth',)

    def __init__(
        self, *, vehicle: str | None = None,
        scenario: str | typing.Mapping[str, typing.Any] | None = None, wind: str | None = None,
        set: typing.Mapping[str, typing.Any] | None = None, observation: str = 'truth',
        target_enu: Vector = (0.0, 0.0, 2.0), control_us: int = 20_000, limit_s: float = 10.0,
        reward: Reward = hold, topics: typing.Sequence[str] = (),
    ) -> None:
        """Check what is flown; nothing begins before `reset`.

        :param vehicle: as of `Flight`, as are `scenario`, `wind` and `set`
        :param observation: `truth`, or with an autopilot `estimate` or `both`
        :param target_enu: in metres from home; an episode begins there
        :param control_us: how long an action holds
        :param limit_s: of an episode, in simulated time
        :param topics: of blocks that are added, such as a camera; `info` has the last message of
            each
        :raises ParameterError: one sentence with the name, the value and what is allowed
        """
        if observation not in self.observations:
            raise ParameterError(
                f"observation = {observation!r}: must be {' or '.join(self.observations)}")
        name, files = given_scenario(scenario if isinstance(scenario, str | None) else {
            'end': {'at_s': _NEVER_S}, **scenario})
        overrides = overrides_of(set or {}, {
            'vehicle': vehicle, 'wind': wind, 'scenario': name, 'mission': self.mission})
        self._configuration = load_configuration(
            None, overrides, base=laid_over(_GOES_ON, self.base()), files=files)
        check_flown(self._configuration)
        check_period('control_us', control_us, self._configuration.world.step_us)
        self._kinds = ('truth', 'estimate') if observation == 'both' else (observation,)
        self.target_enu, self._control_us, self._reward = target_enu, control_us, reward
        self._limit_us = round(limit_s * US_PER_S)
        added = {row.topic: row.name for row in self._configuration.world.own_blocks}
        for topic in topics:
            if topic not in added:
                raise ParameterError(f'topics: {topic!r}: must be the topic of a block that is'
                                     f' added: {", ".join(added) or "there is none"}')
        self._topics = {topic: added[topic] for topic in topics}
        self._claim = contextlib.ExitStack()       # of the environment
        self._held = contextlib.ExitStack()        # of the episode
        self._blocks: dict[str, Block] = {}
        limit = np.full(_NUMBERS * len(self._kinds), np.inf, np.float32)
        self.observation_space = gymnasium.spaces.Box(-limit, limit)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.action_size,), np.float32)

    def base(self) -> Settings:
        """Return parameters under all else."""
        return {}

    @property
    def action_size(self) -> int:
        """How many numbers an action has."""
        raise NotImplementedError

    def act(self, action: np.ndarray) -> None:
        """Let an action hold from now on."""
        raise NotImplementedError

    def own_blocks(self, configuration: Configuration) -> dict[str, Block]:
        """Return blocks in the place of those of the graph, by name."""
        raise NotImplementedError

    def start(self, configuration: Configuration, stack: contextlib.ExitStack) -> None:
        """Bring the vehicle to the target.

        :param stack: ends what was started at the end of the episode
        """
        raise NotImplementedError

    def wait(self) -> None:
        """Wait while nothing can be done in a step.

        :raises RunError: a block holds it
        """
        for block in self._blocks.values():
            if why := block.holds():
                raise RunError(why)

    def reset(
        self, *, seed: int | None = None, options: dict[str, typing.Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, typing.Any]]:
        """Begin an episode.

        :param options: its `seed`, as of `fly`; by default the next of those of the environment
        """
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31 - 1))
        episode = int((options or {}).get('seed', drawn))
        self._held.close()
        compile_ahead(sees=self._configuration.world.sees)
        world = dataclasses.replace(self._configuration.world, seed=episode)
        configuration = dataclasses.replace(self._configuration, world=world)
        self._clock = LockstepClock(world.step_us, 0.0)
        with contextlib.ExitStack() as stack:
            self._blocks = make_blocks(
                configuration, None, '', **self.own_blocks(configuration))
            for block in self._blocks.values():
                stack.callback(block.close)
            self._runner = run_in_process(
                configuration.graph, world, self._blocks, self._clock)
            self.start(configuration, stack)
            self._held = stack.pop_all()
        self._begun_us = self._clock.complete_us
        return self._observe(), {'seed': episode, **self._messages()}

    def step(
        self, action: np.ndarray,
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, typing.Any]]:
        """Let an action hold for `control_us`."""
        self.act(np.clip(np.asarray(action, float), -1.0, 1.0))
        is_lost = False
        try:
            self.fly_until(self._clock.complete_us + self._control_us)
        except RunError:               # the motion has left all bounds
            is_lost = True
        rate, wants_end = self._reward(self.truth, self.target_enu)
        is_lost |= wants_end
        reward = rate * self._control_us / US_PER_S + (_FALL if is_lost else 0.0)
        scenario: typing.Any = self._blocks.get('scenario')
        is_over = self._clock.complete_us - self._begun_us >= self._limit_us or (
            scenario is not None and scenario.course.is_over)
        info = {'fingerprint': self._dynamics.fingerprint} if is_lost or is_over else {}
        return self._observe(), reward, is_lost, is_over, info | self._messages()

    def close(self) -> None:
        """End the environment; a second time nothing happens."""
        self._held.close()
        self._claim.close()

    def __del__(self) -> None:
        if hasattr(self, '_held'):
            self.close()

    # What the kinds of environments use.

    @property
    def truth(self) -> Truth:
        """The true motion now."""
        return typing.cast(Truth, self._runner.values['ground_truth/odom'])

    @property
    def _dynamics(self) -> DynamicsBlock:
        return typing.cast(DynamicsBlock, self._blocks['dynamics'])

    def fly_until(self, time_us: int) -> None:
        """Take the steps up to a time."""
        clock = self._clock
        clock.step((time_us - clock.complete_us) // clock.step_us)
        while clock.complete_us < time_us:
            if not self._runner.run():
                self.wait()

    def estimate(self) -> tuple[Vector, Quaternion, Vector, Vector]:
        """Return place, attitude, velocity and rate as an autopilot takes them, as of a truth."""
        raise NotImplementedError

    def _messages(self) -> dict[str, typing.Any]:
        return {topic: typing.cast('OwnBlock', self._blocks[name]).last
                for topic, name in self._topics.items()}

    def _observe(self) -> np.ndarray:
        found: list[float] = []
        for kind in self._kinds:
            t = self.truth
            found += observed(*((t.position_enu, t.attitude, t.velocity_flu, t.rate_flu)
                                if kind == 'truth' else self.estimate()), self.target_enu)
        return np.array(found, np.float32)


class _Motors(Block):
    """Commands what it is given, in the place of the bridge."""

    references: tuple[float, ...] = ()

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Return the references of the rotors."""
        return {COMMAND: self.references}


class MotorsEnv(FlightEnv):
    """The action is the control of each motor: -1 is off, 1 is full. There is no autopilot.

    An episode begins in the air, level, with the rotors at the speed that hovers.
    """

    @property
    def action_size(self) -> int:
        """One of each rotor, motor and servo."""
        return self._configuration.vehicle.reference_count

    def act(self, action: np.ndarray) -> None:
        """Set the references."""
        vehicle = self._configuration.vehicle
        controls = [*(0.5 * (action + 1.0)).tolist()]
        self._motors.references = vehicle.references(controls, True)

    def own_blocks(self, configuration: Configuration) -> dict[str, Block]:
        """Return the block that commands what it is given."""
        self._motors = _Motors(block_configuration(configuration, 'hil_bridge'))
        return {'hil_bridge': self._motors}

    def start(self, configuration: Configuration, stack: contextlib.ExitStack) -> None:
        """Place the vehicle, and take the first step."""
        vehicle, world = self._configuration.vehicle, self._configuration.world
        speed = vehicle.hover_speed_rad_s(world.gravity_m_s2)
        state = self._dynamics.dynamics.state
        state[POSITION] = self.target_enu
        state[ROTORS:ROTORS + len(vehicle.rotors)] = speed
        self._motors.references = vehicle.as_references(
            [speed] * len(vehicle.rotors) + list(vehicle.rest[len(vehicle.rotors):]))
        self.fly_until(world.step_us)


def share(action: float) -> float:
    """Return a thrust from 0 to 1 of an action from -1 to 1."""
    return 0.5 * (float(action) + 1.0)


def turned(roll_pitch_yaw_rad: Vector) -> Quaternion:
    """Return the attitude of FLU in ENU; roll and pitch are about forwards and left."""
    roll, pitch, yaw = roll_pitch_yaw_rad
    w, x, y, z = euler2quat(yaw, pitch, roll, 'rzyx').tolist()
    return w, x, y, z


class _Bridge(DirectBridge):
    """The bridge to an embedded autopilot, which others command."""

    made: Autopilot

    def open_server(self) -> HilServer:
        """Return the link to a new autopilot."""
        def make() -> Autopilot:
            self.made = Autopilot(
                self.configuration.parameters.instance, self.configuration.vehicle)
            return self.made

        return DirectServer(make)


REACHES: dict[str, Vector] = {
    'position': (3.0, 3.0, 1.0), 'velocity': (3.0, 3.0, 1.0), 'attitude': (0.5, 0.5, math.pi),
    'rates': (2.0, 2.0, 1.0)}
"""The kinds of actions, and what 1 is by default."""


class SetPointEnv(FlightEnv):
    """The embedded autopilot flies set points: positions around the target, velocities, turns.

    At the beginning of an episode it takes off to the target.
    """

    observations = 'truth', 'estimate', 'both'

    def __init__(
        self, *, action: str = 'position', reach: Vector | None = None, **how: typing.Any,
    ) -> None:
        """Check what is flown.

        :param action: one of `REACHES`; attitudes and rates have a thrust as a fourth number
        :param reach: what 1 is along east, north and up, in m from the target or in m/s; or of
            roll, pitch and yaw (FLU, from east), in rad or in rad/s
        :param how: all of `FlightEnv`
        """
        if action not in REACHES:
            raise ParameterError(f'action = {action!r}: must be {", ".join(REACHES)}')
        self._action, self._reach = action, np.array(reach or REACHES[action])
        super().__init__(**how)
        self.check()
        instance = self._claim.enter_context(instances.first_free())
        self._claim.enter_context(claim_instances([instance]))
        for name in {'hil_bridge', 'pilot'}.intersection(self._configuration.nodes):
            node: typing.Any = self._configuration.nodes[name]
            self._configuration = self._configuration.with_node(
                name, dataclasses.replace(node, instance=instance))

    def check(self) -> None:
        """Check that the autopilot can fly what is wanted."""
        check_embedded(self._configuration)

    def own_blocks(self, configuration: Configuration) -> dict[str, Block]:
        """Return the bridge to it."""
        own: typing.Any = block_configuration(configuration, 'hil_bridge')
        self._bridge = _Bridge(own)
        return {'hil_bridge': self._bridge}

    @property
    def action_size(self) -> int:
        """Three numbers, and a thrust for what is turned."""
        return 4 if self._action in ('attitude', 'rates') else 3

    @property
    def _memory(self) -> typing.Any:
        return self._bridge.made.records[0][0]

    def act(self, action: np.ndarray) -> None:
        """Set what it flies."""
        reached = tuple((action[:3] * self._reach).tolist())
        m, gain = self._memory, self._bridge.made.records[1][0].controller.position_gain_hz
        if self._action == 'velocity':   # of the law that leads to a point: gain times the way
            x, y, z = reached
            m.target_m[:] = total(tuple(m.position_m.tolist()), (x / gain, y / gain, z / gain))
        elif self._action == 'position':
            m.target_m[:] = total(self.target_enu, reached)
        elif self._action == 'attitude':
            self._bridge.made.commander.turn(share(action[3]), attitude=turned(reached))
        else:
            self._bridge.made.commander.turn(share(action[3]), rate_flu=reached)

    def start(self, configuration: Configuration, stack: contextlib.ExitStack) -> None:
        """Arm and take off, then go to the target."""
        commander, step_us = self._bridge.made.commander, self._control_us
        while commander.arm():
            self._wait(step_us)
        refused = commander.take_off(self.target_enu[2])
        if refused:
            raise ParameterError(f'target_enu = {self.target_enu}: {refused}')
        self._climb(lambda: commander.in_air)
        self.hold()

    def hold(self) -> None:
        """Stay at the target until the first action."""
        if self.action_size == 3:
            self.act(np.zeros(3))

    def _climb(self, flies: typing.Callable[[], bool]) -> None:
        while not (flies() and self.truth.position_enu[2] > _REACHED * self.target_enu[2]):
            self._wait(self._control_us)

    def _wait(self, time_us: int) -> None:
        if self._clock.complete_us > _START_TIMEOUT_S * US_PER_S:
            raise RunError(f'the vehicle has not reached target_enu = {self.target_enu} within'
                           f' {_START_TIMEOUT_S:g} s; give it a lower one, or less wind')
        self.fly_until(self._clock.complete_us + time_us)

    def estimate(self) -> tuple[Vector, Quaternion, Vector, Vector]:
        """Return place, attitude, velocity and rate."""
        m = self._memory
        attitude: Quaternion = tuple(m.attitude.tolist())
        return (tuple(m.position_m.tolist()), attitude,
                to_body(matrix(attitude), tuple(m.velocity_m_s.tolist())),
                tuple(m.rate_rad_s.tolist()))
