"""What follows from a vehicle file: figures of hover, control, battery, drag and ground contact.

Each figure has the range in which it is plausible for a multicopter; see `vehicle_check`.
All are found with the models that fly, or from closed forms named here.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from px4_sim_ros.core.battery import Battery
from px4_sim_ros.core.environment import Environment
from px4_sim_ros.core.integrators import rk4
from px4_sim_ros.core.parameters import Parameters, parameter
from px4_sim_ros.core.rotors import OUT_OF_GROUND_EFFECT, RotorSet
from px4_sim_ros.core.vehicle import Vehicle

LOW_CHARGE = 0.2
"""Share of the battery's charge at which a flight should have ended."""

_TILT_RAD = math.radians(30.0)
_STILL = (0.0, 0.0, 0.0)
_BISECTIONS = 60


@dataclasses.dataclass(frozen=True)
class Figures(Parameters):
    """The figures of a vehicle, each with its meaning, its unit and what is plausible.

    They are for the air at home and a full, rested battery unless they say otherwise. None: the
    vehicle has no battery or no motor model.
    """

    mass_kg: float = parameter('mass', 'kg', minimum=0.02, maximum=200)
    inertia_triangle: float = parameter(
        'smallest sum of two moments of inertia / the third', minimum=1)
    roll_gyration: float = parameter(
        'radius of gyration / arm, about x', minimum=0.15, maximum=1)
    pitch_gyration: float = parameter('the same about y', minimum=0.15, maximum=1)
    yaw_gyration: float = parameter('the same about z', minimum=0.15, maximum=1)
    arm_m: float = parameter('longest distance of a rotor from body z', 'm', above=0)
    spin_imbalance: float = parameter(
        'rotors of one sense more than of the other, which yaws in hover', maximum=0)
    thrust_offset: float = parameter(
        'thrust centre from the centre of mass / arm, which takes trim in hover', maximum=0.02)
    disc_loading_n_m2: float = parameter('weight / area of the discs', 'N/m^2',
                                         minimum=5, maximum=600)
    figure_of_merit: float | None = parameter(
        'ideal power in hover / shaft power', minimum=0.25, maximum=0.85)
    tip_speed_m_s: float = parameter(
        'of a blade at the highest speed of the rotor', 'm/s', maximum=250)
    hover_speed_rad_s: float = parameter('speed of the rotors in hover', 'rad/s', above=0)
    hover_speed_sea_level_rad_s: float = parameter('the same at sea level', 'rad/s', above=0)
    hover_command: float = parameter('motor control 0..1 in hover', minimum=0.2, maximum=0.85)
    hover_command_sea_level: float = parameter(
        'the same at sea level', minimum=0.2, maximum=0.85)
    hover_command_low_charge: float = parameter(
        'motor control in hover with 20 % of the charge; above 1 it cannot', maximum=0.95)
    thrust_to_weight: float = parameter(
        'thrust at full control / weight', minimum=1.2, maximum=20)
    motor_voltage_share: float | None = parameter(
        'voltage that a motor takes at full control / that of the bus', maximum=1)
    roll_acceleration_rad_s2: float = parameter(
        'largest about x while the thrusts carry the weight', 'rad/s^2', minimum=10, maximum=5000)
    pitch_acceleration_rad_s2: float = parameter(
        'the same about y', 'rad/s^2', minimum=10, maximum=5000)
    yaw_acceleration_rad_s2: float = parameter(
        'the same about z', 'rad/s^2', minimum=0.5, maximum=500)
    time_constant_up_s: float = parameter('lag of a rising speed', 's', minimum=0.002, maximum=0.2)
    time_constant_down_s: float = parameter(
        'lag of a falling speed', 's', minimum=0.002, maximum=0.3)
    hover_power_w: float | None = parameter('power from the bus in hover', 'W', above=0)
    hover_current_a: float | None = parameter('current from the packs in hover', 'A', above=0)
    hover_c_rate: float | None = parameter(
        'the same / capacity', '1/h', maximum=25)
    endurance_low_charge_s: float | None = parameter(
        'hover until 20 % of the charge is left', 's', minimum=120)
    endurance_s: float | None = parameter('hover until the charge is gone', 's', minimum=120)
    climb_speed_m_s: float = parameter('highest, straight up', 'm/s', minimum=1, maximum=60)
    tilted_speed_m_s: float = parameter(
        'level flight in which drag takes 30 deg of tilt', 'm/s', minimum=5, maximum=60)
    fall_speed_m_s: float = parameter(
        'terminal, upright, rotors still', 'm/s', minimum=5, maximum=100)
    foot_margin_m: float = parameter(
        'least distance of the centre of mass from the edge of its feet, level', 'm', above=0)
    rotor_clearance_m: float = parameter('lowest rotor above the lowest foot', 'm', above=0)
    contact_sinking_m: float = parameter(
        'how deep it stands in the ground', 'm', minimum=1e-5, maximum=0.02)
    contact_heave_hz: float = parameter('frequency on its feet, up and down', 'Hz', above=0)
    contact_heave_damping: float = parameter(
        'damping ratio of the same', minimum=0.1, maximum=2)
    contact_fastest_hz: float = parameter('highest frequency on its feet', 'Hz', above=0)
    contact_fastest_damping: float = parameter('damping ratio of the same', minimum=0.05)
    contact_step: float = parameter(
        'fastest rate on its feet * integration step; rk4 bears 2.7, euler 2', maximum=2)
    rotor_step: float = parameter('integration step / shortest lag of the rotors', maximum=2)


def figures(vehicle: Vehicle, environment: Environment, step_s: float) -> Figures:
    """Return the figures of a vehicle.

    :param step_s: of the integration
    """
    body, rotor = vehicle.body, vehicle.rotor_model
    density, gravity = environment.density_kg_m3(0.0), environment.gravity_m_s2(0.0)
    sea_level = environment.density_kg_m3(-environment.home_altitude_m)
    weight = body.mass_kg * gravity
    plant = _Plant(vehicle, density, gravity)
    full, low = plant.full_charge(), plant.low_charge()
    gyration = [
        math.sqrt(i / body.mass_kg) / (plant.arm_m or math.inf) for i in body.inertia_kg_m2]
    roll, pitch, yaw = plant.angular_accelerations()
    return Figures(
        mass_kg=body.mass_kg,
        inertia_triangle=min(sum(body.inertia_kg_m2) / i - 1.0 for i in body.inertia_kg_m2),
        roll_gyration=gyration[0], pitch_gyration=gyration[1], yaw_gyration=gyration[2],
        arm_m=plant.arm_m,
        spin_imbalance=abs(sum(r.spin for r in vehicle.rotors)),
        thrust_offset=math.hypot(
            *(sum(r.position_m[i] for r in vehicle.rotors) / len(vehicle.rotors)
              for i in (0, 1))) / (plant.arm_m or math.inf),
        disc_loading_n_m2=weight / (len(vehicle.rotors) * rotor.disc_area_m2),
        figure_of_merit=(
            rotor.hover_inflow_m / vehicle.motor_model.shaft_torque_coefficient_m
            if vehicle.motor_model else None),
        tip_speed_m_s=plant.full_speed * 0.5 * rotor.propeller_diameter_m,
        hover_speed_rad_s=plant.hover_speed,
        hover_speed_sea_level_rad_s=vehicle.hover_speed_rad_s(gravity, sea_level),
        hover_command=plant.hover_command(full),
        hover_command_sea_level=_Plant(vehicle, sea_level, gravity).hover_command(full),
        hover_command_low_charge=plant.hover_command(low),
        thrust_to_weight=plant.full_thrust_n(full) / weight,
        motor_voltage_share=plant.motor_voltage_share(full),
        roll_acceleration_rad_s2=roll, pitch_acceleration_rad_s2=pitch,
        yaw_acceleration_rad_s2=yaw,
        time_constant_up_s=rotor.time_constant_up_s,
        time_constant_down_s=rotor.time_constant_down_s,
        hover_power_w=plant.hover_power_w if vehicle.motor_model else None,
        hover_current_a=plant.hover_current_a(full),
        hover_c_rate=(plant.hover_current_a(full) / vehicle.battery.capacity_ah
                      if vehicle.battery else None),
        endurance_low_charge_s=plant.endurance_s(LOW_CHARGE),
        endurance_s=plant.endurance_s(0.0),
        climb_speed_m_s=plant.climb_speed_m_s(full),
        tilted_speed_m_s=plant.tilted_speed_m_s(),
        fall_speed_m_s=_drag_speed(
            plant.linear_drag, plant.quadratic_drag, weight),
        rotor_clearance_m=(min(r.position_m[2] for r in vehicle.rotors)
                           - min(z for _, _, z in vehicle.contact_points_m)),
        rotor_step=step_s / min(rotor.time_constant_up_s, rotor.time_constant_down_s),
        foot_margin_m=foot_margin_m(vehicle),
        **_contact(vehicle, weight, step_s),
    )


class _Plant:
    """A vehicle in air of one density: what its models do in steady states.

    A state of charge is the battery's state, or () for a vehicle without a battery.
    """

    def __init__(self, vehicle: Vehicle, density: float, gravity: float) -> None:
        model = vehicle.rotor_model
        self._vehicle = vehicle
        self._density = density
        self._gravity = gravity
        self._weight = vehicle.body.mass_kg * gravity
        self._rotors = RotorSet(model, vehicle.rotors, vehicle.motor_model)
        self._battery = Battery(vehicle.battery) if vehicle.battery else None
        share = density / model.reference_density_kg_m3
        self.linear_drag = share * vehicle.body.linear_drag_n_s_m
        self.quadratic_drag = share * vehicle.body.quadratic_drag_n_s2_m2
        self._rotor_drag = share * model.drag_coefficient_n_s2_m * len(vehicle.rotors)
        self.arm_m = max(math.hypot(*r.position_m[:2]) for r in vehicle.rotors)
        self.hover_speed = vehicle.hover_speed_rad_s(gravity, density)
        self.full_speed = min(
            model.command_gain_rad_s + model.command_offset_rad_s, model.max_speed_rad_s)
        self.hover_power_w = self._lift_and_power(self.hover_speed, 0.0)[1]

    def full_charge(self) -> list[float]:
        """Return the state of full packs that have rested."""
        return self._battery.initial(1.0) if self._battery else []

    def low_charge(self) -> list[float]:
        """Return the state of packs at LOW_CHARGE that have long been hovering."""
        if self._battery is None:
            return []
        state = self._battery.initial(LOW_CHARGE)
        for _ in range(_BISECTIONS):
            currents = self._battery.currents_a(state, self._hover_voltage_v(state))
            state[1::2] = [
                0.5 * (v + pack.polarisation_resistance_ohm * i) for v, pack, i
                in zip(state[1::2], self._vehicle.battery.packs, currents)]
        return state

    def hover_command(self, state: list[float]) -> float:
        """Return the motor control that hovers; above 1 it cannot."""
        voltage = self._hover_voltage_v(state) if self._battery else None
        return self._vehicle.hover_command(self._gravity, self._density, voltage)

    def hover_current_a(self, state: list[float]) -> float | None:
        """Return the current of all packs together in hover."""
        if self._battery is None:
            return None
        return sum(self._battery.currents_a(state, self._hover_voltage_v(state)))

    def full_thrust_n(self, state: list[float], climb_m_s: float = 0.0) -> float:
        """Return the thrust of all rotors at full control."""
        speed = self._full_speed_and_voltage(state, climb_m_s)[0]
        return self._lift_and_power(speed, climb_m_s)[0]

    def motor_voltage_share(self, state: list[float]) -> float | None:
        """Return the voltage that a motor takes at full control / that of the bus."""
        motor = self._vehicle.motor_model
        if self._battery is None or motor is None:
            return None
        speed, voltage = self._full_speed_and_voltage(state, 0.0)
        thrust = self._lift_and_power(speed, 0.0)[0] / len(self._vehicle.rotors)
        current = (
            motor.motor_kv_rad_s_v * motor.shaft_torque_coefficient_m * thrust
            + motor.no_load_current_a)
        return (speed / motor.motor_kv_rad_s_v + motor.winding_resistance_ohm * current) / voltage

    def climb_speed_m_s(self, state: list[float]) -> float:
        """Return the speed straight up at which full thrust carries weight and drag."""
        def surplus(speed: float) -> float:
            drag = (self.linear_drag + self.quadratic_drag * speed) * speed
            return self.full_thrust_n(state, speed) - drag - self._weight
        highest = 2.0 * self.full_speed * self._vehicle.rotor_model.zero_thrust_inflow_m
        return _falling_root(surplus, 0.0, highest)

    def tilted_speed_m_s(self) -> float:
        """Return the level speed at which drag is the weight times the tangent of the tilt.

        Rotors turn as in hover.
        """
        return _drag_speed(
            self.linear_drag + self._rotor_drag * self.hover_speed, self.quadratic_drag,
            self._weight * math.tan(_TILT_RAD))

    def angular_accelerations(self) -> tuple[float, float, float]:
        """Return the largest about each axis while all thrusts together carry the weight.

        At nominal voltage; torques about the other axes are left free.
        """
        model = self._vehicle.rotor_model
        levers = zip(*(
            (r.position_m[1], -r.position_m[0], -r.spin * model.moment_coefficient_m)
            for r in self._vehicle.rotors))
        coefficient = self._lift_and_power(1.0, 0.0)[0] / len(self._vehicle.rotors)
        least, most = (
            coefficient * speed ** 2 for speed in (
                min(model.command_offset_rad_s, self.full_speed), self.full_speed))
        spare = self._weight - least * len(self._vehicle.rotors)
        return tuple(
            _largest_moment(lever, least, most, spare) / inertia
            for lever, inertia in zip(levers, self._vehicle.body.inertia_kg_m2))

    def endurance_s(self, charge: float) -> float | None:
        """Return how long it hovers from full packs until this share of the charge is left."""
        battery, model = self._battery, self._vehicle.battery
        if battery is None:
            return None
        power = self.hover_power_w
        estimate = 3600.0 * model.capacity_ah * battery.voltage_v(self.full_charge(), 0.0) / power
        fastest = min(p.polarisation_capacitance_f
                      * min(p.series_resistance_ohm, p.polarisation_resistance_ohm)
                      for p in model.packs)
        step = min(estimate / 1000.0, fastest)

        def rates(state: list[float]) -> list[float]:
            return battery.rates(state, battery.voltage_v(state, power))

        state, time, left = self.full_charge(), 0.0, 1.0
        while left > charge + 1e-4:
            before, state = left, rk4(rates, state, step)
            left = battery.charge_ah(state) / model.capacity_ah
            time += step * min(1.0, (before - charge) / (before - left))
        return time

    def _hover_voltage_v(self, state: list[float]) -> float:
        return self._battery.voltage_v(state, self.hover_power_w)

    def _full_speed_and_voltage(
        self, state: list[float], climb_m_s: float,
    ) -> tuple[float, float]:
        """Return the rotor speed at full control, and the bus voltage; 0 without a battery."""
        if self._battery is None:
            return self.full_speed, 0.0
        per_volt = self.full_speed / self._vehicle.battery.nominal_voltage_v
        rested = self._battery.voltage_v(state, 0.0)
        voltage = _falling_root(
            lambda v: self._battery.voltage_v(
                state, self._lift_and_power(per_volt * v, climb_m_s)[1]) - v,
            0.0, rested)
        return per_volt * voltage, voltage

    def _lift_and_power(self, speed_rad_s: float, climb_m_s: float) -> tuple[float, float]:
        """Return the thrust of all rotors at this speed, and the power from the bus."""
        wrench = self._rotors.wrench(
            (speed_rad_s,) * len(self._vehicle.rotors), (0.0, 0.0, climb_m_s), _STILL,
            self._density, OUT_OF_GROUND_EFFECT)
        return wrench[2], wrench[6]


def contact_rates_rad_s(vehicle: Vehicle) -> list[float]:
    """Return the undamped angular frequencies of a vehicle whose feet hold the ground, rising.

    Each foot is a spring in all directions: the modes of M x'' + K x = 0 with three
    translations and three turns about the centre of mass. A damper in parallel to each spring
    gives each mode the damping ratio c w / (2 k).
    """
    body, model = vehicle.body, vehicle.contact_model
    stiffness = np.zeros((6, 6))
    for x, y, z in vehicle.contact_points_m:
        # Motion of the foot by motion and turn of the body: v + w x p.
        foot = np.hstack([np.eye(3), [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]])
        stiffness += model.stiffness_n_m * foot.T @ foot
    root = 1.0 / np.sqrt([body.mass_kg] * 3 + list(body.inertia_kg_m2))
    squares = np.linalg.eigvalsh(root[:, None] * stiffness * root)
    return [math.sqrt(max(0.0, float(square))) for square in squares]


def foot_margin_m(vehicle: Vehicle) -> float:
    """Return how far the centre of mass may move before it leaves its feet; negative: it falls.

    It is the least over all directions of how far the furthest foot is.
    """
    return min(
        max(x * math.cos(a) + y * math.sin(a) for x, y, _ in vehicle.contact_points_m)
        for a in (math.radians(degrees) for degrees in range(360)))


def _contact(vehicle: Vehicle, weight_n: float, step_s: float) -> dict[str, float]:
    model = vehicle.contact_model
    all_feet = model.stiffness_n_m * len(vehicle.contact_points_m)
    per_rate = 0.5 * model.damping_n_s_m / model.stiffness_n_m
    heave, fastest = math.sqrt(all_feet / vehicle.body.mass_kg), contact_rates_rad_s(vehicle)[-1]
    ratio = per_rate * fastest
    return {
        'contact_sinking_m': weight_n / all_feet,
        'contact_heave_hz': heave / math.tau,
        'contact_heave_damping': per_rate * heave,
        'contact_fastest_hz': fastest / math.tau,
        'contact_fastest_damping': ratio,
        # An overdamped mode has two real rates; the faster one counts.
        'contact_step': step_s * fastest * (ratio + math.sqrt(max(0.0, ratio * ratio - 1.0))
                                            if ratio > 1.0 else 1.0)}


def _largest_moment(
    levers: typing.Sequence[float], least: float, most: float, spare: float,
) -> float:
    """Return the largest sum of lever * thrust of thrusts within limits that have a given sum.

    :param spare: that sum, less the least thrust of all
    """
    moment = least * sum(levers)
    for lever in sorted(levers, reverse=True):
        share = min(max(spare, 0.0), most - least)
        moment += lever * share
        spare -= share
    return moment


def _drag_speed(linear: float, quadratic: float, force_n: float) -> float:
    """Return the speed at which linear and quadratic drag together are a force."""
    slowing = 0.5 * (linear + math.sqrt(linear * linear + 4.0 * quadratic * force_n))
    return force_n / slowing if slowing > 0.0 else math.inf


def _falling_root(f: typing.Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function is zero; `low` if it begins below."""
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if f(middle) > 0.0:
            low = middle
        else:
            high = middle
    return low
