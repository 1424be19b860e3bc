"""Fixed-step integrators of x' = f(x) for a state held in a list of floats."""
from __future__ import annotations

import typing

State = list[float]
Derivative = typing.Callable[[State], State]


def euler(f: Derivative, x: State, h: float) -> State:
    """Return the state after a step of `h` seconds, first order (explicit Euler)."""
    return [a + h * k for a, k in zip(x, f(x))]


def rk4(f: Derivative, x: State, h: float) -> State:
    """Return the state after a step of `h` seconds, fourth order (classical Runge-Kutta)."""
    half, sixth = 0.5 * h, h / 6.0
    k1 = f(x)
    k2 = f([a + half * k for a, k in zip(x, k1)])
    k3 = f([a + half * k for a, k in zip(x, k2)])
    k4 = f([a + h * k for a, k in zip(x, k3)])
    return [
        a + sixth * (p + 2.0 * (q + r) + s)
        for a, p, q, r, s in zip(x, k1, k2, k3, k4)
    ]


INTEGRATORS: dict[str, typing.Callable[[Derivative, State, float], State]] = {
    'euler': euler,
    'rk4': rk4,
}
