# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The motion as a block; on its own, since it loads the compiler."""
from __future__ import annotations

import collections
import hashlib
import typing

import numpy as np

from px4_sim_ros.model.body.alterations import UNALTERED
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.body.scene_contact import Touch
from px4_sim_ros.model.encounters import reach_m
from px4_sim_ros.model.environment.downwash import WakeSource
from px4_sim_ros.model.errors import RunError
from px4_sim_ros.model.faults.action import FaultChain, Faults
from px4_sim_ros.model.faults.motion import BodyInputs, Change, Load
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.timebase import Arrivals, is_due
from px4_sim_ros.model.truth import STILL, BatteryStatus, Truth
from px4_sim_ros.model.vehicle.sections import LOW_CHARGE
from px4_sim_ros.model.world import Environment
from px4_sim_ros.step.block import (
    Block,
    BlockConfiguration,
    BlockStatus,
    Called,
    Inputs,
    Outputs,
)
from px4_sim_ros.step.graph import COLLISION, COMMAND, FAULTS, HULL, WAKE
from px4_sim_ros.step.repeatability import FINGERPRINT


class DynamicsBlock(Block):
    """Integrates each step with the command of the step before, held."""

    def __init__(self, configuration: BlockConfiguration[DynamicsParameters]) -> None:
        super().__init__(configuration)
        self._rest = configuration.vehicle.rest
        self.battery_period_us = configuration.world.periods_us['battery']
        self._has_wake = WAKE in configuration.graph.topics
        self.radius_m = reach_m(configuration.vehicle) if HULL in (
            configuration.graph.topics) else None
        """Of the sphere that collides; None: nothing does."""
        self._wake_period_us = configuration.world.periods_us['wind']
        topics = configuration.graph.topics
        self._own_topics = [(name, topics[name].own_us) for name in configuration.graph.own_topics]
        self._has_faults = FAULTS in configuration.graph.nodes[configuration.name].inputs
        self._step_us = configuration.world.step_us
        self._has_scene = configuration.scene is not None
        self.past_fingerprints: collections.deque[tuple[int, str]] | None = None
        """Those after each of the last steps, with its time, for a host that hears late of one."""
        # What its host sets.
        self.on_touch: typing.Callable[[Touch], None] = lambda touch: None
        self.reset()

    def reset(self) -> None:
        """Stand on the ground at time 0; the first step has no command."""
        self._begin(0)

    def _begin(self, time_us: int) -> None:
        c = self.configuration
        environment = Environment.of(c.world, c.scene)
        self.dynamics = Dynamics(
            c.parameters, c.vehicle, environment, c.world.step_us, seed=c.world.seed,
            begins_us=time_us)
        self._wake_source = WakeSource(c.vehicle, environment) if self._has_wake else None
        self._digest = hashlib.blake2b(digest_size=8)
        if self.past_fingerprints is not None:
            self.past_fingerprints.clear()
        self._faults = FaultChain(c.name, c.world, c.vehicle)
        self._altered = UNALTERED
        self._references: typing.Sequence[float] = self._rest
        self._commands: Arrivals[typing.Sequence[float]] = Arrivals(
            c.parameters.command_delay_us, self._step_us)
        self._is_late = self._commands.delay_us > 0
        self._is_pushed = False            # by others, in the last step

    def changes(self, faults: Faults) -> list[Change] | None:
        """Return how references change in the next steps; None if compiled code cannot take them.

        :param faults: that are in force
        """
        effects = self._faults.effects(faults)
        if effects is None or self._is_late or self._has_wake or self._is_pushed or not (
                self.dynamics.is_plain):
            return None
        found = [effect for effect in effects if isinstance(effect, (Change, Load))]
        return [effect for effect in found if isinstance(effect, Change)] if (
            len(found) == len(effects)) else None

    def begin_again(self, time_us: int) -> None:
        """Stand on the ground at another time."""
        self._begin(time_us)

    def step(self, time_us: int, inputs: Inputs) -> Outputs:
        """Integrate up to `time_us`; return the truth, battery and wake when they are due."""
        references = inputs.get(COMMAND, self._rest)
        if len(references) != len(self._rest):
            vehicle = self.configuration.vehicle
            what = 'rotors' if vehicle.is_multirotor else 'actuators'
            raise RunError(f'{COMMAND}: {len(references)} velocities came, and the vehicle'
                           f' {vehicle.name} has {len(self._rest)} {what}')
        if self._is_late:
            references = self._late(references, time_us - self._step_us)
        wind = inputs.get('wind')
        if self._has_faults:
            references = self._with_faults(time_us, references, inputs.get(FAULTS, ()))
        if self._own_topics:
            self._note_own(time_us, inputs)
        truth = self.dynamics.step(
            references, STILL.wind_enu if wind is None else wind.velocity_enu,
            None if self.radius_m is None else self._pushed(inputs.get(COLLISION, ())))
        if self._has_scene:
            self._say_touches()
        outputs: Outputs = {'ground_truth/odom': truth}
        if is_due(time_us, self.battery_period_us):
            outputs['battery_state'] = _published(self.dynamics.battery())
        if self._wake_source is not None and is_due(time_us, self._wake_period_us):
            outputs[WAKE] = self._wake_source.wake(
                truth, self.dynamics.lift_n(self._wake_source.rotors))
        if self.radius_m is not None:
            outputs[HULL] = self.dynamics.hull(self.radius_m)
        self._digest.update(self.dynamics.inputs_and_state)
        if self.past_fingerprints is not None:
            self.past_fingerprints.append((time_us, self.fingerprint))
        return outputs

    def _pushed(self, push: typing.Any) -> Vector | None:
        """Spin as others push in this step; return their force."""
        self._is_pushed = bool(push)
        self.dynamics.spin(push[3:])       # recordings of version 9 have the force alone
        return push[:3] or None

    def _say_touches(self) -> None:
        """Report contacts with objects that have begun."""
        for touch in self.dynamics.touches():
            self.on_touch(touch)

    def _note_own(self, time_us: int, inputs: Inputs) -> None:
        """Take into the fingerprint what blocks of the user's have put out in the step before."""
        for name, period_us in self._own_topics:
            if name in inputs and is_due(time_us - self._step_us, period_us):
                self._digest.update(inputs[name])

    def take_steps(
        self, rows: np.ndarray, time_us: int, before: Inputs,
        called: typing.Sequence[Called] = (), *, is_valid: bool,
    ) -> Outputs:
        """Take in steps that compiled code has taken; return the outputs of the last one.

        :param rows: of each step, all of the motion's memory
        :param time_us: of the last one
        :param before: the values of the step before them
        :param called: what others have put out in them, in the order of time
        :raises DivergedError: the motion has left all bounds
        """
        outputs: Outputs = {
            'ground_truth/odom': self.dynamics.take_steps(len(rows), is_valid=is_valid)}
        if self._has_scene:
            self._say_touches()
        if self.radius_m is not None:
            outputs[HULL] = self.dynamics.hull(self.radius_m)
        if is_due(time_us, self.battery_period_us):
            outputs['battery_state'] = _published(self.dynamics.battery())
        if self._has_faults:
            self._faults.keep(BodyInputs(
                tuple(rows[-1, 6:self.dynamics.arrays[0].state_at].tolist())))
        held = rows[:, :len(self.dynamics.inputs_and_state)]
        if self.past_fingerprints is None and not self._own_topics:
            self._digest.update(held.tobytes())
            return outputs
        last_us, put_out = time_us - len(held) * self._step_us, before
        for row in held:
            self._note_own(last_us + self._step_us, put_out)
            last_us, put_out = last_us + self._step_us, {}
            for its_us, _, found in called:
                if its_us == last_us:
                    put_out = {**put_out, **found}
            self._digest.update(row.tobytes())
            if self.past_fingerprints is not None:
                self.past_fingerprints.append((last_us, self.fingerprint))
        return outputs

    def outputs_of(self, row: np.ndarray, time_us: int) -> Outputs:
        """Return the outputs of one of those steps before the last."""
        outputs: Outputs = {'ground_truth/odom': self.truth_of(row, time_us)}
        if is_due(time_us, self.battery_period_us):
            outputs['battery_state'] = self.battery_of(row, time_us)
        if self.radius_m is not None:
            outputs[HULL] = self.dynamics.hull(
                self.radius_m, row[self.dynamics.arrays[0].state_at:])
        return outputs

    def truth_of(self, row: np.ndarray, time_us: int) -> Truth:
        """Return the motion after one of those steps."""
        return self.dynamics.truth_of(
            tuple(row[self.dynamics.arrays[0].state_at:].tolist()), time_us)

    def battery_of(self, row: np.ndarray, time_us: int) -> BatteryStatus | None:
        """Return the battery as it is published after one of those steps."""
        numbers = tuple(row[self.dynamics.arrays[0].state_at:].tolist())
        return _published(self.dynamics.battery_of(numbers, time_us))

    def batteries_of(self, rows: np.ndarray) -> BatteryStatus | None:
        """Return the battery as published after each of those steps, its numbers as arrays."""
        columns: typing.Any = rows[:, self.dynamics.arrays[0].state_at:].T
        found = self.dynamics.battery_of(tuple(columns), 0)
        if found is None:
            return None
        numbers: typing.Any = [
            np.full(len(rows), its, np.float32).astype(float) for its in found[1:]]
        return BatteryStatus(0, *numbers)

    def _late(
        self, references_rad_s: typing.Sequence[float], time_us: int,
    ) -> typing.Sequence[float]:
        """Send the command of a time on its way; return that which has reached the motors."""
        self._commands.put(time_us, references_rad_s)
        for arrived in self._commands.take(time_us):
            self._references = arrived
        return self._references

    def _with_faults(
        self, time_us: int, references_rad_s: typing.Sequence[float], faults: Faults,
    ) -> typing.Sequence[float]:
        """Load and wear the vehicle as a scenario says; return the references that are left."""
        now: BodyInputs = self._faults.of(
            time_us, BodyInputs(references_rad_s, self.dynamics.reached), faults)
        self.dynamics.force_enu = now.force_enu
        if now.altered != self._altered:
            self._altered = now.altered
            self.dynamics.alter(now.altered)
        return now.references_rad_s

    @property
    def fingerprint(self) -> str:
        """A digest of all commands, winds and states of the run."""
        return self._digest.hexdigest()

    def status(self) -> BlockStatus | None:
        """Return the fingerprint, and the state of the battery, with a warning when it is low."""
        battery = self.dynamics.battery()
        values = {FINGERPRINT: self.fingerprint}
        if battery is None:
            return BlockStatus(False, '', values)
        left = battery.state_of_charge
        values |= {'bus_voltage_v': f'{battery.voltage_v:.2f}',
                  'battery_current_a': f'{battery.current_a:.2f}', 'charge': f'{left:.3f}'}
        values |= {f'pack_{i + 1}': f'charge {charge:.3f}, {current_a:.2f} A'
                   for i, (charge, current_a) in enumerate(self.dynamics.packs())}
        if left < LOW_CHARGE:
            return BlockStatus(
                True, f'the battery is low: {100.0 * left:.0f} % are left', values)
        return BlockStatus(False, '', values)


def _published(battery: BatteryStatus | None) -> BatteryStatus | None:
    """Return a battery as it is published."""
    return None if battery is None else battery.with_32_bits()
