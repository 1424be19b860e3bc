"""The whole plant in flight against equations of motion written a second time here.

The second writing uses NumPy vectors, SciPy's rotations and other forms of the same laws, and
SciPy integrates it: wind, air and gravity that change with height, inflow, ground effect, two
unequal packs.
"""
from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from px4_sim_ros.model.environment.atmosphere import Atmosphere
from px4_sim_ros.model.environment.environment import Environment
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.sections import BatteryModel, Pack

UP = np.array([0.0, 0.0, 1.0])
REFERENCES = (800.0, 500.0, 680.0, 600.0)
WIND = (4.0, -3.0, 0.5)
HOME_ALTITUDE_M = 488.0
PACKS = (
    Pack(3, 5.0, 12.6, 10.8, 0.020, 0.010, 2000.0),
    Pack(3, 3.0, 12.4, 10.5, 0.035, 0.020, 1200.0))
START = np.array([
    1.0, -2.0, 3.0,                     # position, ENU
    3.0, 2.0, -4.0,                     # velocity, ENU
    0.96, 0.0, 0.28, 0.0,               # attitude: nose down by 33 deg
    0.4, -0.3, 0.6,                     # body rate, FLU
    500.0, 600.0, 550.0, 650.0,         # rotor speeds
    0.8, 0.02, 0.5, 0.01])              # charge and polarisation of each pack
DURATION_US = 192_000
LOOSE = {name: 1e9 for name in (
    'position_tolerance_m', 'velocity_tolerance_m_s', 'attitude_tolerance',
    'rate_tolerance_rad_s', 'rotor_speed_tolerance_rad_s', 'battery_tolerance')}


def environment():
    """Return gravity and air that change with height."""
    return Environment(Gravity.wgs84(47.4, 535.0), Atmosphere(), HOME_ALTITUDE_M)


def rotation(attitude):
    """Return the matrix from body to world."""
    w, x, y, z = attitude
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def air_density(height):
    """Return that of the standard atmosphere, by the ideal gas law."""
    temperature = 288.15 - 0.0065 * (HOME_ALTITUDE_M + height)
    pressure = 101325.0 * (temperature / 288.15) ** (9.80665 / (287.05287 * 0.0065))
    return pressure / (287.05287 * temperature)


def flow_through_disc(speed, along, across, slope, v_hover, area):
    """Return v + v_i: momentum and blade element in axial flow, then one step across."""
    # 2 rho A u (u - v) = T_h - slope (u - v_h), all over 2 rho A.
    share = slope / (2.0 * 1.225 * area)
    axial = max(np.roots([1.0, share - along, -v_hover * (v_hover + share)]).real)
    root = np.hypot(across, axial)
    return (v_hover * (v_hover + share) + along * root) / (root + share)


def rotor_thrust_and_power(vehicle, speed, hub, density, clearance):
    """Return the thrust, the thrust without the ground, and the electrical power of a rotor."""
    model, motor = vehicle.rotor_model, vehicle.motor_model
    radius = model.propeller_diameter_m / 2.0
    area = np.pi * radius ** 2
    hover = model.thrust_coefficient_n_s2 * speed ** 2
    v_hover = np.sqrt(hover / (2.0 * 1.225 * area))
    v_zero = model.zero_thrust_advance_ratio / np.pi * speed * radius
    slope = hover / (v_zero - v_hover)
    across = np.hypot(hub[0], hub[1])
    flow = flow_through_disc(speed, hub[2], across, slope, v_hover, area)
    free = max(0.0, hover - slope * (flow - v_hover)) * density / 1.225
    profile = (motor.shaft_torque_coefficient_m * speed - v_hover) * hover * density / 1.225
    current = max(0.0, free * flow + profile) / speed * motor.motor_kv_rad_s_v
    current += motor.no_load_current_a
    voltage = speed / motor.motor_kv_rad_s_v + motor.winding_resistance_ohm * current
    image = (radius / (4.0 * max(clearance, radius / 2.0))) ** 2
    thrust = free / (1.0 - image / (1.0 + (across / v_hover) ** 2))
    return thrust, free, voltage * current / motor.esc_efficiency


def rotor_wrench(vehicle, speeds, velocity, rate, density, height, to_world):
    """Return force and torque of all rotors, in FLU (Furrer et al. 2016, section 2), and power."""
    model = vehicle.rotor_model
    force, torque, power = np.zeros(3), np.zeros(3), vehicle.motor_model.avionics_power_w
    for rotor, speed in zip(vehicle.rotors, speeds):
        arm = np.array(rotor.position_m)
        spin = {'ccw': 1.0, 'cw': -1.0}[rotor.turns]
        hub = velocity + np.cross(rate, arm)
        edgewise = (hub - (hub @ UP) * UP) * density / 1.225
        thrust, free, electrical = rotor_thrust_and_power(
            vehicle, speed, hub, density, height + (to_world @ arm)[2])
        rotor_force = thrust * UP - model.drag_coefficient_n_s2_m * speed * edgewise
        force += rotor_force
        torque += np.cross(arm, rotor_force)
        torque -= spin * model.moment_coefficient_m * free * UP
        torque -= spin * model.rolling_moment_coefficient_n_s2 * speed * edgewise
        torque -= np.cross(rate, spin * model.inertia_kg_m2 * speed * UP)
        power += electrical
    return force, torque, power


def pack_rates(states, power):
    """Return the bus voltage and the rates of charge and polarisation, by Kirchhoff's laws."""
    sources = np.array([
        p.empty_voltage_v + (p.full_voltage_v - p.empty_voltage_v) * soc - v1
        for p, (soc, v1) in zip(PACKS, states)])
    conductances = np.array([1.0 / p.series_resistance_ohm for p in PACKS])
    # V sum((E - V) / R0) = P
    voltage = max(np.roots([-conductances.sum(), conductances @ sources, -power]).real)
    currents = (sources - voltage) * conductances
    rates = [
        (-i / (3600.0 * p.capacity_ah),
         (i - v1 / p.polarisation_resistance_ohm) / p.polarisation_capacitance_f)
        for p, i, (_, v1) in zip(PACKS, currents, states)]
    return voltage, np.ravel(rates)


def equations_of_motion(vehicle):
    """Return the derivative of the state as a function of time and state."""
    body, model = vehicle.body, vehicle.rotor_model
    inertia = np.diag(body.inertia_kg_m2)
    gravity = environment().gravity

    def derivative(_, x):
        height, velocity, attitude, rate, speeds = x[2], x[3:6], x[6:10], x[10:13], x[13:17]
        to_world = rotation(attitude)
        density = air_density(height)
        airspeed = to_world.T @ (velocity - WIND)
        force, torque, power = rotor_wrench(
            vehicle, speeds, airspeed, rate, density, height, to_world)
        drag = body.linear_drag_n_s_m + body.quadratic_drag_n_s2_m2 * np.linalg.norm(airspeed)
        force -= drag * density / 1.225 * airspeed
        voltage, packs = pack_rates(x[17:].reshape(-1, 2), power)
        reached = np.array(REFERENCES) * voltage / vehicle.battery.nominal_voltage_v
        lag = np.where(reached > speeds, model.time_constant_up_s, model.time_constant_down_s)
        w, vector = attitude[0], attitude[1:]
        return np.concatenate([
            velocity,
            to_world @ force / body.mass_kg - gravity.at(height) * UP,
            [-0.5 * vector @ rate], 0.5 * (w * rate + np.cross(vector, rate)),
            np.linalg.solve(inertia, torque - np.cross(rate, inertia @ rate)),
            (reached - speeds) / lag,
            packs])

    return derivative


@pytest.fixture(scope='module')
def dense_vehicle(iris, alter):
    """Return an Iris with every term present and three different moments of inertia.

    Rotors are as slow up as down: a change of lag on the way would be a kink. And they are
    slower than the Iris's: of a quick lag Dormand-Prince 45 leaves so little error in fifth
    order that the higher ones hide it.
    """
    vehicle = alter(
        iris, body={'inertia_kg_m2': (0.029, 0.035, 0.055), 'linear_drag_n_s_m': 0.1},
        rotor_model={
            'rolling_moment_coefficient_n_s2': 1e-4,
            'time_constant_up_s': 0.1, 'time_constant_down_s': 0.1})
    return dataclasses.replace(vehicle, battery=BatteryModel(12.0, PACKS))


@pytest.fixture(scope='module')
def solved():
    """Return a function from a vehicle to its state at the end, at nearly machine precision."""
    def solve(vehicle):
        solution = solve_ivp(
            equations_of_motion(vehicle), (0.0, DURATION_US / 1e6), START,
            method='DOP853', rtol=1e-13, atol=1e-13)
        assert solution.success
        end = solution.y[:, -1]
        end[6:10] /= np.linalg.norm(end[6:10])
        return end
    return solve


@pytest.fixture(scope='module')
def reference(dense_vehicle, solved):
    """Return the state at the end."""
    return solved(dense_vehicle)


@pytest.fixture(scope='module')
def end_state(build_dynamics):
    """Return a function from vehicle, step and parameters to the state at the end."""
    def end(vehicle, step_us, **parameters):
        dynamics = build_dynamics(
            vehicle, step_us=step_us, environment=environment(), ground=True, **parameters)
        dynamics.state = START.tolist()
        for _ in range(DURATION_US // step_us):
            dynamics.step(REFERENCES, WIND)
        return np.array(dynamics.state)
    return end


def test_the_flight_is_in_ground_effect_and_in_free_air(reference):
    """It ends above the feet's reach, and low enough for the ground to matter."""
    assert 0.5 < reference[2] < 4.0


def test_trajectory_agrees_with_scipy(dense_vehicle, end_state, reference):
    """RK4 at 250 us and DOP853 on the independent equations."""
    assert end_state(dense_vehicle, 250, integrator='rk4') == pytest.approx(reference, abs=1e-8)


def test_trajectory_of_rotors_slower_down_than_up(dense_vehicle, alter, solved, end_state):
    """As the Iris's are."""
    vehicle = alter(dense_vehicle, rotor_model={
        'time_constant_up_s': 0.0125, 'time_constant_down_s': 0.025})
    assert end_state(vehicle, 250, integrator='rk4') == pytest.approx(solved(vehicle), abs=1e-6)


@pytest.mark.parametrize(('integrator', 'order', 'tolerance', 'steps_us'), [
    ('euler', 1, 0.1, (1000, 500, 250, 125)),
    ('rk23', 3, 0.2, (4000, 2000, 1000, 500)),
    ('rk4', 4, 0.2, (4000, 2000, 1000, 500)),
    ('rk45', 5, 0.2, (12000, 8000, 6000, 4000)),
])
def test_order_of_convergence_on_the_plant(
    dense_vehicle, end_state, reference, integrator, order, tolerance, steps_us,
):
    """The error falls with the order of the method; loose tolerances make all steps equal."""
    scale = np.maximum(np.abs(reference), 1.0)
    errors = [
        np.linalg.norm((end_state(
            dense_vehicle, h, integrator=integrator, **LOOSE) - reference) / scale)
        for h in steps_us]
    assert np.polyfit(np.log(steps_us), np.log(errors), 1)[0] == pytest.approx(
        order, abs=tolerance)


@pytest.mark.parametrize('integrator', ['rk23', 'rk45'])
@pytest.mark.parametrize('tolerance', [1e-4, 1e-6, 1e-8])
def test_adaptive_integrators_keep_their_tolerance(
    dense_vehicle, end_state, reference, integrator, tolerance,
):
    """Each component ends within ten times the error that is allowed to one of many steps."""
    end = end_state(
        dense_vehicle, 4000, integrator=integrator, min_step_us=1, relative_tolerance=tolerance,
        **{name: tolerance for name in LOOSE})
    allowed = tolerance * (1.0 + np.abs(reference))
    assert np.max(np.abs(end - reference) / allowed) < 10.0


def test_accelerations_in_the_truth_agree(dense_vehicle, build_dynamics):
    """Acceleration and angular acceleration in FLU, at one state, climbing and descending."""
    for climb in (-8.0, 6.0, 30.0):
        x = START.copy()
        x[5] = climb
        dynamics = build_dynamics(dense_vehicle, environment=environment(), ground=True)
        dynamics.step(REFERENCES, WIND)
        dynamics.state = x.tolist()
        truth = dynamics.truth()
        rates = equations_of_motion(dense_vehicle)(0.0, x)
        assert truth.acceleration_flu == pytest.approx(
            rotation(x[6:10]).T @ rates[3:6], abs=1e-11)
        assert truth.angular_acceleration_flu == pytest.approx(rates[10:13], abs=1e-10)


def test_substeps_must_fit_into_the_step(iris, build_dynamics):
    """Whole microseconds, for the methods that take them."""
    with pytest.raises(ParameterError, match=r'^substeps = 3: must divide step_us = 4000 '):
        build_dynamics(iris, substeps=3)
    build_dynamics(iris, substeps=3, integrator='rk45')


@pytest.mark.parametrize('density', [1.225, 1.0])
def test_hover_trim(on_mains, build_dynamics, world, density):
    """All rotors at sqrt(m g / 4 k), or more in thinner air: no acceleration at all."""
    g = world.gravity_m_s2
    k = on_mains.rotor_model.thrust_coefficient_n_s2 * density / 1.225
    speed = float(np.sqrt(on_mains.body.mass_kg * g / (4.0 * k)))
    assert on_mains.hover_speed_rad_s(g, density) == pytest.approx(speed, rel=1e-15)
    dynamics = build_dynamics(on_mains, density_kg_m3=density)
    dynamics.state[13:] = [speed] * 4
    for truth in (dynamics.truth(), dynamics.step((speed,) * 4)):
        assert truth.acceleration_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
        assert truth.angular_acceleration_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_air_that_moves_along_changes_nothing(on_mains, build_dynamics):
    """Drifting with the wind is as hovering in still air."""
    truths = []
    for wind in ((0.0, 0.0, 0.0), (8.0, -6.0, 1.0)):
        dynamics = build_dynamics(on_mains)
        dynamics.state[3:6] = wind
        dynamics.state[13:] = [700.0, 750.0, 720.0, 710.0]
        for _ in range(50):
            truth = dynamics.step((800.0, 790.0, 780.0, 810.0), wind)
        truths.append(truth)
    still, drifting = truths
    assert drifting.attitude == pytest.approx(still.attitude, abs=1e-12)
    assert drifting.acceleration_flu == pytest.approx(still.acceleration_flu, abs=1e-10)


def test_hover_figures_of_the_iris(iris, world):
    """807 rad/s, command 0.707 and thrust/weight 1.86, as computed from iris.sdf."""
    speed = iris.hover_speed_rad_s(world.gravity_m_s2)
    model = iris.rotor_model
    assert speed == pytest.approx(807.0, abs=0.5)
    assert (speed - model.command_offset_rad_s) / model.command_gain_rad_s == pytest.approx(
        0.707, abs=5e-4)
    assert (model.max_speed_rad_s / speed) ** 2 == pytest.approx(1.86, abs=5e-3)
