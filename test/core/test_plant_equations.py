"""The whole plant in free flight against equations of motion written a second time here.

The second writing uses NumPy vectors and transforms3d, and SciPy integrates it. The
vehicle descends all the time, so that the thrust law has no kink on the way.
"""
from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from transforms3d.quaternions import qmult, quat2mat

UP = np.array([0.0, 0.0, 1.0])
REFERENCES = (700.0, 450.0, 620.0, 560.0)
START = np.array([
    1.0, -2.0, 3.0,                     # position, ENU
    3.0, 2.0, -8.0,                     # velocity, ENU
    0.96, 0.0, 0.28, 0.0,               # attitude: nose down by 33 deg
    0.4, -0.3, 0.6,                     # body rate, FLU
    500.0, 600.0, 550.0, 650.0])        # rotor speeds
DURATION_US = 192_000


def rotor_wrench(vehicle, speeds, velocity, rate):
    """Return force and torque of all rotors, in FLU (Furrer et al. 2016, section 2)."""
    model = vehicle.rotor_model
    force, torque = np.zeros(3), np.zeros(3)
    for rotor, speed in zip(vehicle.rotors, speeds):
        arm = np.array(rotor.position_m)
        spin = {'ccw': 1.0, 'cw': -1.0}[rotor.turns]
        hub = velocity + np.cross(rate, arm)
        edgewise = hub - (hub @ UP) * UP
        loss = np.clip(1.0 - (hub @ UP) / model.zero_thrust_climb_m_s, 0.0, 1.0)
        thrust = model.thrust_coefficient_n_s2 * speed ** 2 * loss
        rotor_force = thrust * UP - model.drag_coefficient_n_s2_m * speed * edgewise
        force += rotor_force
        torque += np.cross(arm, rotor_force)
        torque -= spin * model.moment_coefficient_m * thrust * UP
        torque -= spin * model.rolling_moment_coefficient_n_s2 * speed * edgewise
        torque -= np.cross(rate, spin * model.inertia_kg_m2 * speed * UP)
    return force, torque


def equations_of_motion(vehicle, gravity):
    """Return the derivative of the state as a function of time and state."""
    body, model = vehicle.body, vehicle.rotor_model
    inertia = np.diag(body.inertia_kg_m2)

    def derivative(_, x):
        velocity, attitude, rate, speeds = x[3:6], x[6:10], x[10:13], x[13:]
        to_world = quat2mat(attitude)
        airspeed = to_world.T @ velocity
        force, torque = rotor_wrench(vehicle, speeds, airspeed, rate)
        force -= body.linear_drag_n_s_m * airspeed
        force -= body.quadratic_drag_n_s2_m2 * np.linalg.norm(airspeed) * airspeed
        lag = np.where(
            np.array(REFERENCES) > speeds, model.time_constant_up_s, model.time_constant_down_s)
        return np.concatenate([
            velocity,
            to_world @ force / body.mass_kg - gravity * UP,
            0.5 * qmult(attitude, (0.0, *rate)),
            np.linalg.solve(inertia, torque - np.cross(rate, inertia @ rate)),
            (REFERENCES - speeds) / lag])

    return derivative


@pytest.fixture(scope='module')
def dense_vehicle(iris, alter):
    """Return an Iris with every term present and three different moments of inertia."""
    return alter(
        iris, body={'inertia_kg_m2': (0.029, 0.035, 0.055), 'linear_drag_n_s_m': 0.1},
        rotor_model={'rolling_moment_coefficient_n_s2': 1e-4})


@pytest.fixture(scope='module')
def reference(dense_vehicle, world):
    """Return the state at the end, by DOP853 at nearly machine precision."""
    solution = solve_ivp(
        equations_of_motion(dense_vehicle, world.gravity_m_s2), (0.0, DURATION_US / 1e6), START,
        method='DOP853', rtol=1e-13, atol=1e-13)
    assert solution.success
    assert solution.y[5].max() < -5.0                # it descended all the way
    end = solution.y[:, -1]
    end[6:10] /= np.linalg.norm(end[6:10])
    return end


@pytest.fixture(scope='module')
def end_state(dense_vehicle, build_dynamics):
    """Return a function from method and step to the state at the end."""
    def end(integrator, step_us):
        dynamics = build_dynamics(dense_vehicle, integrator=integrator, step_us=step_us)
        dynamics.state = START.tolist()
        for _ in range(DURATION_US // step_us):
            dynamics.step(REFERENCES)
        return np.array(dynamics.state)
    return end


def test_trajectory_agrees_with_scipy(end_state, reference):
    """RK4 at 250 us and DOP853 on the independent equations."""
    assert end_state('rk4', 250) == pytest.approx(reference, abs=1e-6)


@pytest.mark.parametrize(('integrator', 'order', 'tolerance', 'steps_us'), [
    ('euler', 1, 0.1, (1000, 500, 250, 125)),
    ('rk4', 4, 0.2, (2000, 1000, 500, 250)),
])
def test_order_of_convergence_on_the_plant(
    end_state, reference, integrator, order, tolerance, steps_us,
):
    """The error of the motion falls with the order of the method, rotor lag included."""
    errors = [np.linalg.norm((end_state(integrator, h) - reference)[:13]) for h in steps_us]
    assert np.polyfit(np.log(steps_us), np.log(errors), 1)[0] == pytest.approx(
        order, abs=tolerance)


def test_accelerations_in_the_truth_agree(dense_vehicle, build_dynamics, world):
    """Acceleration and angular acceleration in FLU, at one state, climbing and descending."""
    for climb in (-8.0, 6.0):
        x = START.copy()
        x[5] = climb
        dynamics = build_dynamics(dense_vehicle)
        dynamics.state = x.tolist()
        truth = dynamics.truth()
        rates = equations_of_motion(dense_vehicle, world.gravity_m_s2)(0.0, x)
        assert truth.acceleration_flu == pytest.approx(
            quat2mat(x[6:10]).T @ rates[3:6], abs=1e-12)
        assert truth.angular_acceleration_flu == pytest.approx(rates[10:13], abs=1e-11)


def test_hover_trim(iris, build_dynamics, world):
    """All rotors at sqrt(m g / 4 k) carry the weight: no acceleration at all."""
    g = world.gravity_m_s2
    speed = np.sqrt(iris.body.mass_kg * g / (4.0 * iris.rotor_model.thrust_coefficient_n_s2))
    assert iris.hover_speed_rad_s(g) == pytest.approx(speed, rel=1e-15)
    dynamics = build_dynamics(iris)
    dynamics.state[13:] = [float(speed)] * 4
    for truth in (dynamics.truth(), dynamics.step((float(speed),) * 4)):
        assert truth.acceleration_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
        assert truth.angular_acceleration_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_hover_figures_of_the_iris(iris, world):
    """807 rad/s, command 0.707 and thrust/weight 1.86, as computed from iris.sdf."""
    speed = iris.hover_speed_rad_s(world.gravity_m_s2)
    model = iris.rotor_model
    assert speed == pytest.approx(807.0, abs=0.5)
    assert (speed - model.command_offset_rad_s) / model.command_gain_rad_s == pytest.approx(
        0.707, abs=5e-4)
    assert (model.max_speed_rad_s / speed) ** 2 == pytest.approx(1.86, abs=5e-3)
