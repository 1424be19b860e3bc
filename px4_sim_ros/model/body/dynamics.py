# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The vehicle's motion, integrated step by step."""
from __future__ import annotations

import functools
import math
import operator
import typing

import numpy as np

from px4_sim_ros.jit.fast_namedtuple import fast_namedtuple
from px4_sim_ros.model.body.alterations import Alterations
from px4_sim_ros.model.body.battery import Battery
from px4_sim_ros.model.body.contact import Stand, no_anchors, stand
from px4_sim_ros.model.body.integrators import ADAPTIVE, FIXED, Adaptive, DynamicsParameters, State
from px4_sim_ros.model.body.motion import derivative, project_state, turn_rotors
from px4_sim_ros.model.body.motion_code import advance_of
from px4_sim_ros.model.body.motion_memory import (
    ATTITUDE,
    BUS_CURRENT,
    BUS_VOLTAGE,
    IN_VORTEX_RING,
    POSITION,
    RATE,
    ROTORS,
    VELOCITY,
    HeldInputs,
    Memory,
    Z,
)
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.rotors import AXIS_Z, SHAKING, THRUST
from px4_sim_ros.model.body.scene_contact import (
    ARE_HELD,
    Touch,
    Touches,
    no_touches,
    touched_names,
)
from px4_sim_ros.model.body.scene_start import (
    begin_paths,
    check_room,
    footing,
    raised_m,
    velocities_of,
)
from px4_sim_ros.model.body.wheel_reader import WheelReader
from px4_sim_ros.model.collisions import Hull
from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.errors import DivergedError, RunError
from px4_sim_ros.model.frames import Quaternion, Vector
from px4_sim_ros.model.random_streams import NormalStream
from px4_sim_ros.model.rotation import (
    cross,
    difference,
    matrix,
    multiply,
    to_body,
    to_world,
    total,
)
from px4_sim_ros.model.sensors.noise import GaussMarkov, NoiseRows
from px4_sim_ros.model.timebase import US_PER_S, seconds_text
from px4_sim_ros.model.truth import BatteryStatus, Truth
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

_truth_of = fast_namedtuple(Truth)

_NOTHING = (0.0, 0.0, 0.0)
_SETTLING_US, _AT_REST = 20_000_000, 1e-6      # m/s and rad/s
_SLID = 0.25           # of its size: what moves farther as it settles does not stand
_EAST_DEG = 90.0       # the heading of body axes that are those of the world


class Dynamics:
    """Motion of one vehicle over the ground; for its state see `motion_memory`."""

    def __init__(
        self, parameters: DynamicsParameters, vehicle: Vehicle, environment: Environment,
        step_us: int, *, ground: bool = True, seed: int = 0, begins_us: int = 0,
    ) -> None:
        """Stand on the ground where the parameters say, rotors still, the packs rested.

        On an object that moves it stands as it would on one that does not, and moves with it.

        :param ground: without it the vehicle starts at the origin and falls for ever
        :param seed: of the shaking of rotors in their vortex rings
        :param begins_us: when
        :raises ParameterError: the substeps do not fit into the step, or it cannot stand
        """
        parameters.check_step(step_us)
        self._step_us = step_us
        self._name = vehicle.name
        self._body = vehicle.body
        self._plant = Plant.of(vehicle, environment, ground=ground)
        self._made = self._plant.copy()
        self._center: Vector = _NOTHING        # of mass, in FLU from where it was made
        self._bulk: tuple[float, tuple[float, ...]] | None = None      # of the plant, once wanted
        self._contact = (vehicle.contact_model.stiffness_n_m,
                         vehicle.contact_model.friction_coefficient)
        self._is_spun = False
        # Where they begin in the state.
        self._actuators = ROTORS + len(vehicle.rotors)
        self._servos = self._actuators + len(vehicle.motors)
        self._packs = self._servos + len(vehicle.servos)
        self._battery = Battery(vehicle.battery) if vehicle.battery is not None else None
        self._cells_share = 1.0
        self.time_us = begins_us
        self.force_enu: Vector = _NOTHING
        """An external force on the centre of mass, N; zero unless it is set."""
        east_m, north_m = parameters.start_east_m, parameters.start_north_m
        slope, scene = environment.ground, environment.scene if self._plant.has_scene else None
        if scene and len(self._plant.paths):
            begin_paths(self._plant, scene, parameters.integrator, begins_us)
        under = scene and footing(self._plant, scene, slope, east_m, north_m)
        if under:
            slope = under.slope
        weight = vehicle.body.mass_kg * environment.gravity_m_s2(0.0) * slope.matrix[8]
        rest = stand(vehicle.contact_model, vehicle.all_points_m, weight) if (
            ground and weight) else Stand(0.0, (1.0, 0.0, 0.0, 0.0), ())
        memory = self._memory = Memory(self._plant)
        self.inputs_and_state = memory.all[:memory.angles_at].data
        """What held in the last step (wind, force, references), then the state at its end."""
        self._held = HeldInputs(
            memory.inputs[6:], memory.inputs[:3], memory.inputs[3:6],
            no_anchors(len(self._plant.feet)),
            no_touches(
                len(self._plant.feet), has_scene=self._plant.has_scene, time_us=begins_us,
                fragile=self._plant.rotors if parameters.propellers_break else None))
        self._held.references[:] = vehicle.rest
        self._bus = (0.0, 0.0)                 # voltage and current, with the last truth
        self.state = [
            *(under.place_above(rest.height_m) if under
              else slope.place_above(east_m, north_m, rest.height_m)), *_NOTHING,
            *multiply(slope.attitude, multiply(
                _level(parameters.start_heading_deg), rest.attitude)), *_NOTHING,
            *self._held.references,
            *(self._battery.initial(parameters.initial_charge) if self._battery else ())]
        self._touches: Touches | None = None
        self._half_step_s = 0.5 * step_us / US_PER_S
        self.shaking = NoiseRows(len(vehicle.rotors), functools.partial(
            _shake, _shakings(parameters, vehicle, step_us, seed)))
        """Of the rotors, for steps in their vortex rings."""
        self._adaptive = (
            None if parameters.integrator in FIXED
            else _adaptive(parameters, vehicle, len(self.state)))
        self._hold = memory.hold
        self._numbers = memory.numbers
        self._motion, self._bus_and_ring = _readers(
            self._actuators, self._servos, self._packs,
            *(at - memory.state_at for at in (memory.angles_at, memory.outputs_at)))
        self._wheels = WheelReader.of_memory(vehicle, memory)
        # What is compiled or loaded is so now, not in the first step.
        if self._adaptive is not None:
            self._compile()
        is_rk4 = parameters.integrator == 'rk4'
        self._of_a_step = step_us // parameters.substeps / US_PER_S, parameters.substeps, is_rk4
        advance = advance_of(memory, self._plant, self._held)
        self._advance = functools.partial(advance, *self._of_a_step)
        self._set_outputs = functools.partial(advance, step_us / US_PER_S, 0, is_rk4)
        self._look = functools.partial(advance, 0.0, 0, is_rk4)
        settle = functools.partial(
            advance, self._of_a_step[0], _SETTLING_US // step_us * parameters.substeps, True)
        if scene and under:
            self._stand_in(scene, weight / vehicle.contact_model.stiffness_n_m, settle,
                           functools.partial(advance, 0.0, 1, is_rk4), is_flat=slope.is_level)
            if moved := velocities_of(self._plant, under, self.time_us, tuple(
                    self.state[POSITION]), tuple(self.state[ATTITUDE])):
                self.state[VELOCITY], self.state[RATE] = moved
            substep_s, substeps, _ = self._of_a_step
            if self._adaptive is not None:
                substep_s, substeps = step_us / US_PER_S, 1
            self._touches = Touches(
                self._held.touches, len(self._plant.feet), touched_names(scene), substep_s,
                substeps)
        elif ground and not slope.is_level:
            self._settle(slope, settle)
        self.truth()

    def _settle(self, slope: Ground, advance: typing.Callable[[], int]) -> None:
        """Stand on a slope as the springs along it let it, if friction and wheels hold it there.

        Without power and wind it comes to rest; it is then at the place of the start again, with
        the attitude and the stretched springs that it has found.
        """
        found = self._at_rest(advance)
        if found is not None:
            east, north, height = to_body(
                slope.matrix, difference(tuple(found[POSITION]), tuple(self.state[POSITION])))
            self._held.anchors[:] -= east, north
            self.state[POSITION] += to_world(slope.matrix, (0.0, 0.0, height))
            self.state[ATTITUDE] = found[ATTITUDE]
        else:
            self._held.anchors[:] = no_anchors(len(self._plant.feet))

    def _at_rest(self, advance: typing.Callable[[], int]) -> np.ndarray | None:
        """Return the state in which it comes to rest from here, and stay; None: in none."""
        memory, begun = self._memory, self._memory.all.copy()
        self._hold(*_NOTHING, *_NOTHING, *self._held.references)
        is_valid, found = advance(), self.state.copy()
        memory.all[:] = begun
        is_at_rest = is_valid and np.abs(found[VELOCITY]).max() < _AT_REST and (
            np.abs(found[RATE]).max() < _AT_REST)
        return found if is_at_rest else None

    def _stand_in(
        self, scene: Scene, spring_m: float, settle: typing.Callable[[], int],
        look_about: typing.Callable[[], int], *, is_flat: bool,
    ) -> None:
        """Stand on what is below, where that lets it come to rest; else begin to slide or tip.

        :raises ParameterError: it would begin in an object
        """
        plant, begun = self._plant, self.state.copy()
        self._held.touches[len(plant.feet), ARE_HELD] = 1.0
        touches = self._held.touches.copy()
        if plant.is_hilly:
            begun[Z] += raised_m(plant, tuple(begun[POSITION]), tuple(begun[ATTITUDE]))
        self.state[:] = begun
        check_room(plant, scene, tuple(begun[POSITION]), tuple(begun[ATTITUDE]), spring_m)
        look_about()
        found = self._at_rest(settle) if plant.is_hilly or not is_flat else None
        farthest_m = _SLID * self._plant.constants[0]['size_m']
        if found is None or np.hypot(*(found - begun)[POSITION][:2]) > farthest_m:
            self._held.touches[:] = touches
        else:
            begun[POSITION], begun[ATTITUDE] = found[POSITION], found[ATTITUDE]
            self.state[:] = begun
        look_about()
        # What it does with the state is less than its last digit, and with the plane's anchors what
        # the first step does.
        self.state[:] = begun
        self._held.anchors[:] = math.nan
        self._held.touches[len(plant.feet), ARE_HELD] = 0.0

    def _compile(self) -> None:
        """Compile what an integrator calls that chooses its steps."""
        x = self.state.copy()
        derivative(x, self._plant, self._held)
        project_state(x, self._plant, self._held._replace(
            anchors=self.anchors.copy(), touches=self._held.touches.copy()), 0.0)
        turn_rotors(self._memory.rotor_angles_rad.copy(), x, self._half_step_s)

    @property
    def state(self) -> np.ndarray:
        """The state now, see `motion_memory`; it can be written to, and changes with each step."""
        return self._memory.state

    @state.setter
    def state(self, values: typing.Sequence[float]) -> None:
        self._memory.state[:] = values

    @property
    def anchors(self) -> np.ndarray:
        """The anchor of each foot on the ground, (n, 2) in m; NaN of one off the ground."""
        return self._held.anchors

    @property
    def reached(self) -> list[float]:
        """Speeds of rotors and motors, rad/s, angles of servos, rad, as references ask for them."""
        found: list[float] = self.state[ROTORS:self._packs].tolist()
        return found

    def step(
        self, references: typing.Sequence[float], wind_enu: Vector = _NOTHING,
        push_enu: Vector | None = None,
    ) -> Truth:
        """Advance by one step with references and wind held, and return the motion at its end.

        :param references: of `Vehicle.references`: speeds of the rotors, as reached at nominal
            bus voltage, and of the motors, rad/s; angles of the servos, rad. What an actuator
            cannot reach is limited to what it can
        :param wind_enu: velocity of the air
        :param push_enu: a force on the centre of mass in this step, N, on top of all others
        :raises RunError: a reference is not finite
        :raises DivergedError: the motion has left all bounds
        """
        if not math.isfinite(sum(references)):
            raise _not_finite(references)
        force = self.force_enu if push_enu is None else total(self.force_enu, push_enu)
        self._hold(*wind_enu, *force, *references)
        if self._is_in_vortex_ring:
            self._plant.rotors[:, SHAKING] = self.shaking.next()
        if self._adaptive is None:
            is_valid = self._advance()
        else:
            self._adapt(self._adaptive)
            is_valid = self._set_outputs()
        self.time_us += self._step_us
        return self._truth(is_valid)

    # Steps that compiled code takes: see `link.hil.burst`.

    @property
    def is_plain(self) -> bool:
        """Whether compiled code alone can take the next step."""
        return self._adaptive is None and self._center is _NOTHING

    @property
    def arrays(self) -> tuple[Memory, Plant, HeldInputs]:
        """Its memory, its plant and what it holds, all of which stay where they are."""
        return self._memory, self._plant, self._held

    @property
    def substeps(self) -> tuple[float, int, bool]:
        """Their length (s), how many a step has, and whether they are those of `rk4`."""
        return self._of_a_step

    def hull(self, radius_m: float, state: np.ndarray | None = None) -> Hull:
        """Return the sphere around the centre of mass that others collide with.

        :param state: of a step before; None: now
        """
        x = (self.state if state is None else state)[:ROTORS].tolist()
        self._bulk = self._bulk or self._plant.bulk
        return Hull(tuple(x[POSITION]), tuple(x[VELOCITY]), tuple(x[ATTITUDE]), tuple(x[RATE]),
                    *self._bulk, radius_m, *self._contact)

    def spin(self, torque_enu: typing.Sequence[float]) -> None:
        """Set a torque from outside that acts from the next step on, N m; none: it acts no more."""
        if self._is_spun or torque_enu:
            self._is_spun = self._plant.spin(torque_enu)

    def touches(self) -> list[Touch]:
        """Return the contacts with objects that have begun since the last call."""
        if self._touches is None:
            return []
        return self._touches.take(self.time_us, self._step_us)

    def take_steps(self, steps: int, *, is_valid: bool = True) -> Truth:
        """Take in that compiled code has taken steps in the memory; return the motion now.

        :raises DivergedError: it has left all bounds
        """
        self.time_us += steps * self._step_us
        return self._truth(is_valid)

    def truth_of(self, x: tuple[float, ...], time_us: int) -> Truth:
        """Return the motion after a step, by the state and all that follows it in the memory."""
        return _truth_of((time_us, *self._motion(x), self._wheels and self._wheels.of(x)))

    def _adapt(self, integrator: Adaptive) -> None:
        """Integrate the state over one step."""
        def f(x: State) -> State:
            return derivative(x, self._plant, self._held)
        memory = self._memory
        turn_rotors(memory.rotor_angles_rad, memory.state, self._half_step_s)
        memory.state[:] = integrator.advance(f, memory.state, self._step_us)
        project_state(memory.state, self._plant, self._held, self._step_us / US_PER_S)
        turn_rotors(memory.rotor_angles_rad, memory.state, self._half_step_s)

    def _diverged(self) -> DivergedError:
        return DivergedError(
            f'the motion of {self._name} has left all bounds at t = {seconds_text(self.time_us)}:'
            f' the step of {self._step_us} us is too long for it, or a value of it is wild;'
            ' check-vehicle says more')

    def truth(self) -> Truth:
        """Return the motion now.

        :raises DivergedError: it has left all bounds
        """
        return self._truth(self._look())

    def _truth(self, is_valid: int) -> Truth:
        x = self._numbers()
        self._bus, in_vortex_ring = self._bus_and_ring(x)
        self._is_in_vortex_ring = in_vortex_ring > 0.0
        if not is_valid:
            raise self._diverged()
        truth = _truth_of((self.time_us, *self._motion(x), self._wheels and self._wheels.of(x)))
        return truth if self._center is _NOTHING else self._of_origin(truth)

    def battery(self) -> BatteryStatus | None:
        """Return the battery at the time of the last truth; None if the vehicle has none."""
        return self._battery_status(self.time_us, self._bus, self._charges())

    def battery_of(self, x: tuple[float, ...], time_us: int) -> BatteryStatus | None:
        """Return the battery after a step, by the same numbers as `truth_of`."""
        bus, _ = self._bus_and_ring(x)
        return self._battery_status(
            time_us, bus, x[self._packs:self._memory.angles_at - self._memory.state_at])

    def _battery_status(
        self, time_us: int, bus: tuple[float, float], charges: typing.Sequence[float],
    ) -> BatteryStatus | None:
        if self._battery is None:
            return None
        return BatteryStatus(
            time_us, *bus, self._battery.charge_ah(charges), self._battery.capacity_ah,
            self._battery.model.capacity_ah)

    def lift_n(self, rotors: typing.Iterable[int]) -> float:
        """Return the thrust of these rotors along body z at the time of the last truth."""
        table = self._plant.rotors
        return sum(float(table[i, THRUST] * table[i, AXIS_Z]) for i in rotors)

    def packs(self) -> list[tuple[float, float]]:
        """Return charge (0..1) and current (A) of each pack, at the time of the last truth."""
        if self._battery is None:
            return []
        return list(zip(self._charges()[::2], self._memory.pack_currents_a.tolist()))

    def alter(self, altered: Alterations) -> None:
        """Load the vehicle, and wear its packs, from now on; always from how it was made."""
        self._move_center(self._plant.alter(self._made, self._body, altered))
        self._bulk = None
        if self._battery is not None:
            self._battery.wear(
                altered.cells_share, altered.resistance_factor, altered.capacity_share)
            self._plant.packs[:] = self._battery.constants
            # The polarisation of cells that are shorted is gone with them.
            self.state[self._packs + 1::2] *= altered.cells_share / self._cells_share
            self._cells_share = altered.cells_share

    def _move_center(self, center: Vector) -> None:
        """Change the centre of mass: place and rates of the vehicle stay."""
        if center != self._center:
            moved, x = difference(center, self._center), self.state.tolist()
            turn = matrix(tuple(x[ATTITUDE]))
            self.state[POSITION] += to_world(turn, moved)
            self.state[VELOCITY] += to_world(turn, cross(tuple(x[RATE]), moved))
            self._center = center if any(center) else _NOTHING

    def _of_origin(self, truth: Truth) -> Truth:
        """Return the motion of the origin of the body: where the centre of mass was made."""
        center, rate = self._center, truth.rate_flu
        turning = cross(rate, center)
        return truth._replace(
            position_enu=difference(
                truth.position_enu, to_world(matrix(truth.attitude), center)),
            velocity_flu=difference(truth.velocity_flu, turning),
            acceleration_flu=difference(difference(
                truth.acceleration_flu, cross(truth.angular_acceleration_flu, center)),
                cross(rate, turning)))

    def _charges(self) -> list[float]:
        """Return the state of the packs."""
        charges: list[float] = self.state[self._packs:].tolist()
        return charges


def _readers(
    actuators: int, servos: int, packs: int, angles: int, outputs: int,
) -> tuple[operator.itemgetter[typing.Any], operator.itemgetter[typing.Any]]:
    """Return a reader of the parts of a `Truth`, and voltage, current and vortex ring.

    Each takes the numbers from the state on, and is given where the parts of these begin.
    """
    velocity, acceleration, angular_acceleration = (
        slice(outputs + i, outputs + i + 3) for i in (0, 3, 6))
    return operator.itemgetter(
        POSITION, ATTITUDE, velocity, RATE, acceleration, angular_acceleration,
        slice(ROTORS, actuators), slice(angles, outputs), slice(actuators, servos),
        slice(servos, packs),
    ), operator.itemgetter(
        slice(outputs + BUS_VOLTAGE, outputs + BUS_CURRENT + 1), outputs + IN_VORTEX_RING)


def _not_finite(references: typing.Sequence[float]) -> RunError:
    at, value = next(((i, value) for i, value in enumerate(references)
                      if not math.isfinite(value)), (0, math.inf))
    return RunError(f'actuators/command: value {at + 1} of {len(references)} is {value}:'
                    ' each must be a finite number')


def _level(heading_deg: float) -> Quaternion:
    """Return the attitude of a vehicle on level ground, by its heading clockwise from north."""
    half = 0.5 * math.radians(_EAST_DEG - heading_deg)
    return math.cos(half), 0.0, 0.0, math.sin(half)


def _shake(shakings: typing.Sequence[GaussMarkov], rows: np.ndarray) -> None:
    """Set the noise of each rotor's thrust in the next steps."""
    for i, shaking in enumerate(shakings):
        rows[:, i] = shaking.take(len(rows))


def _shakings(
    parameters: DynamicsParameters, vehicle: Vehicle, step_us: int, seed: int,
) -> list[GaussMarkov]:
    """Return the noise of each rotor's thrust in a vortex ring, at the boundaries of steps.

    Its time constant is that in which the downwash of full speed passes a diameter.
    """
    models = [vehicle.model_of(rotor) for rotor in vehicle.rotors]
    return [
        GaussMarkov(
            parameters.vortex_ring_shaking,
            model.propeller_diameter_m / (model.hover_inflow_m * model.max_speed_rad_s),
            step_us / US_PER_S, NormalStream(seed, f'dynamics/vortex_ring/{i}'))
        for i, model in enumerate(models)]


def _adaptive(parameters: DynamicsParameters, vehicle: Vehicle, size: int) -> Adaptive:
    """Return the integrator that chooses its steps, for a state of this size."""
    p = parameters
    tolerances = [
        *[p.position_tolerance_m] * 3, *[p.velocity_tolerance_m_s] * 3,
        *[p.attitude_tolerance] * 4, *[p.rate_tolerance_rad_s] * 3,
        *[p.rotor_speed_tolerance_rad_s] * (len(vehicle.rotors) + len(vehicle.motors)),
        *[p.attitude_tolerance] * len(vehicle.servos)]
    tolerances += [p.battery_tolerance] * (size - len(tolerances))
    return Adaptive(ADAPTIVE[p.integrator], p.relative_tolerance, tolerances, p.min_step_us)
