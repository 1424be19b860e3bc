"""The integrators alone, on motions with a closed form."""
from __future__ import annotations

import math

import numpy as np
import pytest

from px4_sim_ros.core.integrators import INTEGRATORS, euler, rk4


def integrate(method, f, x, duration, steps):
    """Return the state after `steps` equal steps."""
    for _ in range(steps):
        x = method(f, x, duration / steps)
    return x


def oscillator(x):
    """Return the rates of x'' = -x."""
    return [x[1], -x[0]]


def pendulum(x):
    """Return the rates of phi'' = -sin(phi)."""
    return [x[1], -math.sin(x[0])]


def kepler(x):
    """Return the rates of r'' = -r / |r|^3."""
    cubed = math.hypot(x[0], x[1]) ** 3
    return [x[2], x[3], -x[0] / cubed, -x[1] / cubed]


@pytest.mark.parametrize(('name', 'order'), [('euler', 1), ('rk4', 4)])
def test_error_falls_with_the_order_of_the_method(name, order):
    """The solution of x' = x (1 - x), x(0) = 0.1 is 1 / (1 + 9 exp(-t))."""
    exact = 1.0 / (1.0 + 9.0 * math.exp(-4.0))
    steps = np.array([40, 80, 160, 320])
    errors = [
        abs(integrate(INTEGRATORS[name], lambda x: [x[0] * (1.0 - x[0])], [0.1], 4.0, n)[0]
            - exact) for n in steps]
    slope = np.polyfit(np.log(4.0 / steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.1)


def test_one_euler_step_is_the_tangent():
    """It is x + h f(x)."""
    assert euler(oscillator, [1.0, 2.0], 0.5) == [2.0, 1.5]


def test_harmonic_oscillator_after_ten_periods():
    """The solution x = cos(t) comes back to 1."""
    x = integrate(rk4, oscillator, [1.0, 0.0], 20.0 * math.pi, 2000)
    assert x == pytest.approx([1.0, 0.0], abs=1e-5)


def test_pendulum_keeps_its_energy():
    """E = phi'^2 / 2 - cos(phi), over 20 s from 2 rad."""
    def energy(x):
        return 0.5 * x[1] ** 2 - math.cos(x[0])

    start = [2.0, 0.0]
    end = integrate(rk4, pendulum, start, 20.0, 2000)
    assert energy(end) == pytest.approx(energy(start), rel=1e-6)


def test_circular_kepler_orbit_closes_and_keeps_its_energy():
    """Radius 1, speed 1, period 2 pi, energy -1/2; ten turns."""
    x = integrate(rk4, kepler, [1.0, 0.0, 0.0, 1.0], 20.0 * math.pi, 5000)
    assert x == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-5)
    energy = 0.5 * (x[2] ** 2 + x[3] ** 2) - 1.0 / math.hypot(x[0], x[1])
    assert energy == pytest.approx(-0.5, rel=1e-6)
