"""Motion without ground against closed forms: falling, drag, turning."""
from __future__ import annotations

import math

import numpy as np
import pytest
from transforms3d.quaternions import quat2mat

from px4_sim_ros.model.rotation import yaw_rad

REST = (0.0,) * 4
TILTED = (0.8, 0.4, -0.2, 0.4)         # a unit quaternion


def run(dynamics, duration_s):
    """Step with the rotors at rest; return the truth at the end."""
    end_us = dynamics.time_us + round(duration_s * 1e6)
    while dynamics.time_us < end_us:
        truth = dynamics.step(REST)
    return truth


def test_free_fall(dragless, build_dynamics, world):
    """After 1 s z = -g t^2 / 2."""
    truth = run(build_dynamics(dragless), 1.0)
    assert truth.time_us == 1_000_000
    assert truth.position_enu == pytest.approx((0.0, 0.0, -0.5 * world.gravity_m_s2), abs=1e-9)


def test_throw_with_linear_drag(dragless, alter, build_dynamics, world):
    """From m v' = m g - c v, with T = m/c, r = T g t + (v0 - T g) T (1 - exp(-t/T))."""
    drag, duration = 0.8, 2.0
    vehicle = alter(dragless, body={'linear_drag_n_s_m': drag})
    dynamics = build_dynamics(vehicle)
    start = np.array([5.0, -3.0, 8.0])
    dynamics.state[3:6] = start.tolist()
    dynamics.state[6:10] = TILTED
    truth = run(dynamics, duration)
    t_drag = vehicle.body.mass_kg / drag
    final = t_drag * np.array([0.0, 0.0, -world.gravity_m_s2])
    decay = math.exp(-duration / t_drag)
    assert truth.position_enu == pytest.approx(
        final * duration + (start - final) * t_drag * (1.0 - decay), abs=1e-6)
    velocity = quat2mat(truth.attitude) @ truth.velocity_flu
    assert velocity == pytest.approx(final + (start - final) * decay, abs=1e-6)


def test_fall_with_quadratic_drag(dragless, alter, build_dynamics, world):
    """With V = sqrt(m g / k): v = V tanh(g t / V), z = -(V^2/g) ln cosh(g t / V)."""
    drag, duration, g = 0.018, 3.0, world.gravity_m_s2
    vehicle = alter(dragless, body={'quadratic_drag_n_s2_m2': drag})
    truth = run(build_dynamics(vehicle), duration)
    terminal = math.sqrt(vehicle.body.mass_kg * g / drag)
    phase = g * duration / terminal
    assert truth.velocity_flu[2] == pytest.approx(-terminal * math.tanh(phase), abs=1e-6)
    assert truth.position_enu[2] == pytest.approx(
        -terminal ** 2 / g * math.log(math.cosh(phase)), abs=1e-6)


def test_rise_against_quadratic_drag(dragless, alter, build_dynamics, world):
    """Upwards v = V tan(atan(v0 / V) - g t / V), as long as it rises."""
    drag, start, duration, g = 0.018, 20.0, 1.0, world.gravity_m_s2
    vehicle = alter(dragless, body={'quadratic_drag_n_s2_m2': drag})
    dynamics = build_dynamics(vehicle)
    dynamics.state[5] = start
    terminal = math.sqrt(vehicle.body.mass_kg * g / drag)
    expected = terminal * math.tan(math.atan(start / terminal) - g * duration / terminal)
    assert expected > 0.0
    assert run(dynamics, duration).velocity_flu[2] == pytest.approx(expected, abs=1e-6)


def test_terminal_speed_of_the_iris(iris, build_dynamics, world):
    """A long fall ends at V = sqrt(m g / k), near 29 m/s, and stays there."""
    truth = run(build_dynamics(iris), 30.0)
    terminal = math.sqrt(
        iris.body.mass_kg * world.gravity_m_s2 / iris.body.quadratic_drag_n_s2_m2)
    assert truth.velocity_flu[2] == pytest.approx(-terminal, abs=1e-6)
    assert truth.acceleration_flu == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_drag_grows_with_the_density_of_the_air(dragless, alter, build_dynamics, world):
    """In half the density the terminal speed is sqrt(2) times as high."""
    vehicle = alter(dragless, body={'quadratic_drag_n_s2_m2': 0.018})
    truth = run(build_dynamics(vehicle, density_kg_m3=0.6125), 40.0)
    terminal = math.sqrt(2.0 * vehicle.body.mass_kg * world.gravity_m_s2 / 0.018)
    assert truth.velocity_flu[2] == pytest.approx(-terminal, abs=1e-6)


def test_drifts_with_the_wind(dragless, alter, build_dynamics):
    """Without weight, m v' = -c (v - wind): v = wind (1 - exp(-c t / m))."""
    drag, wind = 0.8, np.array([4.0, -3.0, 1.0])
    vehicle = alter(dragless, body={'linear_drag_n_s_m': drag})
    dynamics = build_dynamics(vehicle, gravity_m_s2=0.0)
    dynamics.state[6:10] = TILTED
    for _ in range(500):
        truth = dynamics.step(REST, tuple(wind))
    share = 1.0 - math.exp(-drag * 2.0 / vehicle.body.mass_kg)
    velocity = quat2mat(truth.attitude) @ truth.velocity_flu
    assert velocity == pytest.approx(wind * share, abs=1e-9)


def test_torque_free_asymmetric_top(dragless, alter, build_dynamics):
    """Energy and inertial angular momentum stay: I = (2, 1, 0.5), w = (1, 2, 3), 2 s at 1 ms."""
    inertia = np.array([2.0, 1.0, 0.5])
    vehicle = alter(dragless, body={'inertia_kg_m2': tuple(inertia)})
    dynamics = build_dynamics(vehicle, step_us=1000, gravity_m_s2=0.0)
    dynamics.state[6:10] = TILTED
    dynamics.state[10:13] = [1.0, 2.0, 3.0]

    def energy_and_momentum(truth):
        rate = np.array(truth.rate_flu)
        return 0.5 * rate @ (inertia * rate), quat2mat(truth.attitude) @ (inertia * rate)

    energy, momentum = energy_and_momentum(dynamics.truth())
    truth = run(dynamics, 2.0)
    energy_after, momentum_after = energy_and_momentum(truth)
    assert energy_after == pytest.approx(energy, rel=1e-6)
    assert momentum_after == pytest.approx(momentum, abs=1e-4)
    assert math.hypot(*truth.attitude) == pytest.approx(1.0, abs=1e-10)
    assert truth.rate_flu != pytest.approx((1.0, 2.0, 3.0), abs=0.1)   # it did tumble


def test_constant_yaw_rate(dragless, build_dynamics):
    """Turning at pi rad/s: a quarter turn left after 0.5 s, half a turn after 1 s."""
    dynamics = build_dynamics(dragless)
    dynamics.state[12] = math.pi
    assert yaw_rad(run(dynamics, 0.5).attitude) == pytest.approx(0.5 * math.pi, abs=1e-6)
    assert abs(yaw_rad(run(dynamics, 0.5).attitude)) == pytest.approx(math.pi, abs=1e-6)


def test_attitude_keeps_unit_length(dragless, build_dynamics):
    """Spinning at 20 rad/s for 10 s, where RK4 alone would lose 1e-7."""
    dynamics = build_dynamics(dragless)
    dynamics.state[10:13] = [0.0, 0.0, 20.0]
    assert math.hypot(*run(dynamics, 10.0).attitude) == pytest.approx(1.0, abs=1e-14)


def test_substeps_refine_the_same_step(iris, build_dynamics):
    """One step of 4 ms in four substeps is four steps of 1 ms, bit for bit."""
    whole = build_dynamics(iris, substeps=4)
    parts = build_dynamics(iris, step_us=1000)
    command = (900.0, 700.0, 800.0, 600.0)
    truth = whole.step(command)
    for _ in range(4):
        last = parts.step(command)
    assert truth == last
