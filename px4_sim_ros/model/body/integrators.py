# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runge-Kutta integrators of x' = f(x) for a state in an array (n,), as its derivative is.

A method takes one step of a given length. `Adaptive` chooses its steps from an estimate of their
error, by whole microseconds, and ends exactly where it is asked to. Inputs are held meanwhile.
"""
from __future__ import annotations

import dataclasses
import functools
import math
import typing
from fractions import Fraction

import numpy as np

from px4_sim_ros.model.errors import ParameterError, nearest_valid
from px4_sim_ros.model.parameters import Parameters, parameter
from px4_sim_ros.model.timebase import US_PER_S

State = np.ndarray
Derivative = typing.Callable[..., State]
Method = typing.Callable[..., State]
SetRates = typing.Callable[..., None]

Weights = typing.Sequence[typing.Sequence[float]]
Trial = tuple[State, State, State]


# The next two are compiled as well, for the motion; there the derivative takes held inputs. They
# make no array: that took half the time of a step.

def euler_in_place(
    set_rates: SetRates, x: State, h: float, work: np.ndarray, held: tuple[typing.Any, ...] = (),
) -> None:
    """Advance a state by a step of `h` seconds in place, first order (explicit Euler).

    :param set_rates: sets the derivative so many seconds after the begin of the step:
        `set_rates(rates, x, ahead_s, *held)`
    :param work: (`WORK_ROWS`, n), what is in it does not matter
    """
    rates = work[0]
    set_rates(rates, x, 0.0, *held)
    for i in range(len(x)):
        x[i] += h * rates[i]


def rk4_in_place(
    set_rates: SetRates, x: State, h: float, work: np.ndarray, held: tuple[typing.Any, ...] = (),
) -> None:
    """Advance a state by a step of `h` seconds in place, fourth order (classical Runge-Kutta).

    Parameters are those of `euler_in_place`.
    """
    k1, k2, k3, k4, between = work[0], work[1], work[2], work[3], work[4]
    half, sixth = 0.5 * h, h / 6.0
    set_rates(k1, x, 0.0, *held)
    for i in range(len(x)):
        between[i] = x[i] + half * k1[i]
    set_rates(k2, between, half, *held)
    for i in range(len(x)):
        between[i] = x[i] + half * k2[i]
    set_rates(k3, between, half, *held)
    for i in range(len(x)):
        between[i] = x[i] + h * k3[i]
    set_rates(k4, between, h, *held)
    for i in range(len(x)):
        x[i] += sixth * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])


WORK_ROWS = 5


def euler(f: Derivative, x: State, h: float) -> State:
    """Return the state after a step of `euler_in_place`."""
    return _on_a_copy(euler_in_place, f, x, h)


def rk4(f: Derivative, x: State, h: float) -> State:
    """Return the state after a step of `rk4_in_place`."""
    return _on_a_copy(rk4_in_place, f, x, h)


def _on_a_copy(
    method: typing.Callable[[SetRates, State, float, np.ndarray], None], f: Derivative, x: State,
    h: float,
) -> State:
    def set_rates(rates: State, x: State, ahead_s: float) -> None:
        rates[:] = f(x)

    after = np.array(x, float)
    method(set_rates, after, h, np.empty((WORK_ROWS, len(after))))
    return after


@dataclasses.dataclass(frozen=True)
class EmbeddedRungeKutta:
    """A Runge-Kutta method with a second one, an order lower, in the same stages.

    The difference of the two estimates the error. The higher order is kept.
    The last stage is taken at the new state, so it is the first stage of the next step.
    """

    order: int
    rows: tuple[tuple[Fraction, ...], ...]
    """Weights of the earlier stages at the second stage and those after; the last is the result."""
    lower: tuple[Fraction, ...]
    """Weights of all stages in the result of the lower order."""
    unrolled: typing.Callable[[Weights, Derivative, State, State], Trial]
    """The same stages written out, for speed; its weights are those above times the step."""

    @functools.cached_property
    def weights(self) -> tuple[tuple[float, ...], ...]:
        """The rows and, last, the weights of all stages in the error estimate."""
        error = (b - lower for b, lower in zip((*self.rows[-1], Fraction(0)), self.lower))
        return tuple(tuple(float(w) for w in row) for row in (*self.rows, error))

    def trial(self, f: Derivative, x: State, h: float, k1: State) -> Trial:
        """Return the state after `h` seconds, its derivative, and the error estimate.

        :param k1: f(x)
        """
        return self.unrolled([[h * w for w in row] for row in self.weights], f, x, k1)


def _four_stages(weights: Weights, f: Derivative, x: State, k1: State) -> Trial:
    (a1,), (_, b2), (c1, c2, c3), (e1, e2, e3, e4) = weights
    k2 = f(x + a1 * k1)
    k3 = f(x + b2 * k2)
    new = x + c1 * k1 + c2 * k2 + c3 * k3
    k4 = f(new)
    return new, k4, e1 * k1 + e2 * k2 + e3 * k3 + e4 * k4


def _seven_stages(weights: Weights, f: Derivative, x: State, k1: State) -> Trial:
    (
        (a1,), (b1, b2), (c1, c2, c3), (d1, d2, d3, d4), (g1, g2, g3, g4, g5),
        (h1, _, h3, h4, h5, h6), (e1, _, e3, e4, e5, e6, e7),
    ) = weights
    k2 = f(x + a1 * k1)
    k3 = f(x + b1 * k1 + b2 * k2)
    k4 = f(x + c1 * k1 + c2 * k2 + c3 * k3)
    k5 = f(x + d1 * k1 + d2 * k2 + d3 * k3 + d4 * k4)
    k6 = f(x + g1 * k1 + g2 * k2 + g3 * k3 + g4 * k4 + g5 * k5)
    new = x + h1 * k1 + h3 * k3 + h4 * k4 + h5 * k5 + h6 * k6
    k7 = f(new)
    return new, k7, e1 * k1 + e3 * k3 + e4 * k4 + e5 * k5 + e6 * k6 + e7 * k7


def _fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(word) for word in text.split())


BOGACKI_SHAMPINE = EmbeddedRungeKutta(
    order=3,
    rows=(
        _fractions('1/2'),
        _fractions('0 3/4'),
        _fractions('2/9 1/3 4/9'),
    ),
    lower=_fractions('7/24 1/4 1/3 1/8'),
    unrolled=_four_stages,
)

DORMAND_PRINCE = EmbeddedRungeKutta(
    order=5,
    rows=(
        _fractions('1/5'),
        _fractions('3/40 9/40'),
        _fractions('44/45 -56/15 32/9'),
        _fractions('19372/6561 -25360/2187 64448/6561 -212/729'),
        _fractions('9017/3168 -355/33 46732/5247 49/176 -5103/18656'),
        _fractions('35/384 0 500/1113 125/192 -2187/6784 11/84'),
    ),
    lower=_fractions('5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40'),
    unrolled=_seven_stages,
)

FIXED: dict[str, Method] = {'euler': euler, 'rk4': rk4}
ADAPTIVE: dict[str, EmbeddedRungeKutta] = {'rk23': BOGACKI_SHAMPINE, 'rk45': DORMAND_PRINCE}
INTEGRATOR_NAMES = (*FIXED, *ADAPTIVE)


def check_substeps(step_us: int, substeps: int) -> None:
    """Check that the substeps of a step are whole microseconds.

    :raises ParameterError: naming the nearest valid values
    """
    if substeps > 0 and step_us % substeps == 0:
        return
    below = next((n for n in range(min(substeps, step_us), 0, -1) if step_us % n == 0), None)
    above = next((n for n in range(max(substeps, 1), step_us + 1) if step_us % n == 0), None)
    raise ParameterError(
        f'substeps = {substeps}: must divide step_us = {step_us} into whole microseconds;'
        f' {nearest_valid([n for n in (below, above) if n is not None])}')


@dataclasses.dataclass(frozen=True)
class DynamicsParameters(Parameters):
    """How the motion is integrated, where it begins, and how full the battery is there."""

    integrator: str = parameter(
        'integration method; euler and rk4 take equal steps, rk23 and rk45 choose theirs',
        choices=INTEGRATOR_NAMES)
    substeps: int = parameter(
        'integration steps of euler and rk4 in one step', minimum=1, maximum=1000)
    relative_tolerance: float = parameter(
        'error of a step of rk23 and rk45 per value', above=0, maximum=1)
    position_tolerance_m: float = parameter('least error that counts', 'm', above=0)
    velocity_tolerance_m_s: float = parameter('least error that counts', 'm/s', above=0)
    attitude_tolerance: float = parameter(
        'least error that counts, of a quaternion component', above=0)
    rate_tolerance_rad_s: float = parameter('least error that counts', 'rad/s', above=0)
    rotor_speed_tolerance_rad_s: float = parameter('least error that counts', 'rad/s', above=0)
    battery_tolerance: float = parameter(
        'least error that counts, of the share of charge and of volts', above=0)
    min_step_us: int = parameter(
        'a step of rk23 and rk45 this short is accepted with any error', 'us', minimum=1)
    vortex_ring_shaking: float = parameter(
        "standard deviation of a rotor's thrust / the thrust, where its vortex ring is worst",
        minimum=0, maximum=1)
    command_delay_us: int = parameter(
        'how late a command reaches motors and servos, to the nearest step', 'us', minimum=0,
        maximum=1_000_000)
    propellers_break: bool = parameter(
        'whether a rotor that turns and touches something in a scene is off for good')
    initial_charge: float = parameter(
        'share of its capacity in each pack at the start', minimum=0, maximum=1)
    start_east_m: float = parameter(
        'where the vehicle stands at first, from home', 'm', minimum=-10_000, maximum=10_000)
    start_north_m: float = parameter(
        'where the vehicle stands at first, from home', 'm', minimum=-10_000, maximum=10_000)
    start_heading_deg: float = parameter(
        'where its nose points at first, clockwise from north', 'deg', minimum=0, maximum=360)

    def check_step(self, step_us: int) -> None:
        """Check that the substeps are whole microseconds, of a method that takes them.

        :raises ParameterError: naming the nearest valid values
        """
        if self.integrator in FIXED:
            check_substeps(step_us, self.substeps)


class Adaptive:
    """An embedded method whose steps are as long as the tolerances allow.

    It counts `accepted_steps`, `rejected_steps` and `forced_steps`: those accepted although their
    error was too large. `proposal_us` is the next step; it is kept between calls.
    """

    SAFETY = 0.9
    SHRINK = 0.2
    GROW = 5.0

    def __init__(
        self, method: EmbeddedRungeKutta, relative_tolerance: float,
        absolute_tolerances: typing.Sequence[float], min_step_us: int,
    ) -> None:
        """Start with no proposal: the first call's duration is the first.

        :param absolute_tolerances: one for each component of the state, above zero
        :param min_step_us: a step of this or less is accepted with any error; at least 1
        """
        self._method = method
        self._exponent = -1.0 / method.order
        self._relative = relative_tolerance
        self._absolute = np.array(absolute_tolerances, float)
        self._min_step_us = min_step_us
        self.proposal_us = 0
        self.accepted_steps = 0
        self.rejected_steps = 0
        self.forced_steps = 0

    # A motion that leaves all bounds is found by its state.
    @np.errstate(over='ignore', invalid='ignore')
    def advance(self, f: Derivative, x: State, duration_us: int) -> State:
        """Return the state after `duration_us`.

        :raises ValueError: if the state has not one component for each tolerance
        """
        if len(x) != len(self._absolute):
            raise ValueError(f'{len(x)} components but {len(self._absolute)} tolerances')
        trial, min_step_us = self._method.trial, self._min_step_us
        proposal_us = self.proposal_us or max(duration_us, min_step_us)
        remaining_us = duration_us
        # Inputs and state may have changed since the last call: its last derivative is void.
        k = f(x)
        grow = self.GROW
        while remaining_us > 0:
            h_us = min(proposal_us, remaining_us)
            new, k_new, error = trial(f, x, h_us / US_PER_S, k)
            ratio = self._error_ratio(x, new, error)
            next_us = max(min_step_us, int(h_us * min(grow, self._factor(ratio))))
            if ratio > 1.0 and h_us > min_step_us:
                self.rejected_steps += 1
                proposal_us, grow = next_us, 1.0
                continue
            self.accepted_steps += 1
            self.forced_steps += ratio > 1.0
            # A step cut short to land says nothing against a longer one.
            proposal_us = max(proposal_us, next_us) if h_us < proposal_us else next_us
            x, k, remaining_us, grow = new, k_new, remaining_us - h_us, self.GROW
        self.proposal_us = proposal_us
        return x

    def _error_ratio(self, x: State, new: State, error: State) -> float:
        """Return the error over the tolerance, of the component where it is largest.

        Not the mean square: there, many quiet components would hide one that is wrong.
        """
        largest = np.maximum(np.abs(x), np.abs(new))
        ratio = float((np.abs(error) / (self._absolute + self._relative * largest)).max())
        return math.inf if math.isnan(ratio) else ratio

    def _factor(self, ratio: float) -> float:
        """Return by how much the next step may differ for its error to meet the tolerance."""
        if ratio == 0.0:
            return self.GROW
        factor: float = self.SAFETY * ratio ** self._exponent
        return min(self.GROW, max(self.SHRINK, factor))
