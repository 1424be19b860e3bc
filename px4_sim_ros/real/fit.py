# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a vehicle by least squares: those with which the model flies as the logs did.

The log is cut into windows, one after the other. In each the model starts in the logged state and
flies open loop (`open_loop.fly`); the differences to the log at a few times of the window are the
residuals (output error with multiple shooting; Jategaonkar 2015, Flight Vehicle System
Identification, chapter 4). Each kind of residual is weighted by its own spread.

Residuals of one window, and of windows near each other, are not independent: they share the noise
of their start, gusts, drifts of the estimator, and what the model lacks. So intervals are those of
a sandwich estimator whose middle is the variance at low frequency, from `_COSINES` cosines over the
flight, with Student's t for as many (Mueller 2007; Lazarus, Lewis, Stock & Watson 2018).

Set points of a log lack what is between them, and its signals lag by some milliseconds, which show
in no residual. By how much estimates change with every other set point only, twice, and with
signals that are late, is in the interval as well (`RealFlight.perturbed`).
"""
from __future__ import annotations

import dataclasses
import typing

import numpy as np
from scipy import optimize
from scipy.special import stdtrit

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import open_loop
from px4_sim_ros.real.flight import RealFlight
from px4_sim_ros.real.named import NAMED, Content, changed, scale_of, value_of, with_values

CONFIDENCE = 0.95
_MARKS = 0.2, 0.5, 1.0         # of a window: where it is compared
BLOCK_S = 2.0                 # at least; longer than what the controller does
_ROUNDS = 3                    # of weights by the residuals
_FAR = 2.0                     # times its spread: a residual beyond counts less
_LOST = 1e6                    # a residual of a motion that has left all bounds
# Two numbers do nearly the same to the motion below this singular value, of unit columns.
_TOGETHER = 0.02
# Fewer are honest about slower drifts and gusts, and give wider intervals.
_COSINES = 4
SELDOM = 2.0                  # times the change by every other set point
EXPLAINED = 0.5               # of the changes of a rate, before torques are sought
_NOTHING = 1e-9                # of the largest effect: none
_DIFFERENCE = 1e-5             # of the scale of a number, for its derivative


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number, with the interval that has the true one with `CONFIDENCE`."""

    name: str
    before: float
    value: float
    half_width: float

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.half_width


@dataclasses.dataclass(frozen=True)
class Fit:
    """What some logs say about a vehicle."""

    estimates: tuple[Estimate, ...]
    refused: tuple[tuple[str, str], ...]       # what the logs cannot tell, and why
    windows: int
    blocks: int
    turning: str                               # how the model flew, see `open_loop.fly`

    @property
    def values(self) -> dict[str, float]:
        """The numbers by name."""
        return {found.name: found.value for found in self.estimates}


class _Window(typing.NamedTuple):
    flight: RealFlight
    starts: np.ndarray
    marks: list[int]
    blocks: np.ndarray         # of each start, its block


class Problem:
    """Logs, a vehicle file, and which of its numbers are sought."""

    def __init__(
        self, flights: typing.Sequence[RealFlight], content: Content, names: typing.Sequence[str],
        horizon_s: float, turning: str = open_loop.FREE,
    ) -> None:
        """Cut the logs into windows."""
        self.content, self.names, self.turning = content, list(names), turning
        self.horizon_s = horizon_s
        self.scales = np.array([scale_of(content, name) for name in names])
        self.least = np.array([NAMED[name].least for name in names])
        self.windows: list[_Window] = []
        blocks = 0
        for flight in flights:
            marks = sorted(set(open_loop.marks_of(
                flight, [share * horizon_s for share in _MARKS])))
            starts = flight.starts(marks[-1], marks[-1])
            of_start = (starts * flight.period_s / max(BLOCK_S, 2.0 * horizon_s)).astype(int)
            places, numbers = np.unique(of_start, return_inverse=True)
            self.windows.append(_Window(flight, starts, marks, numbers + blocks))
            blocks += len(places)
        self.blocks = blocks
        self.count = sum(len(window.starts) for window in self.windows)
        # The rest is that of the log, if it turns as in the log.
        self.shape = self.count, len(marks), 6 if turning == open_loop.LOGGED else 12
        if blocks < len(names) + 3:
            raise ParameterError(
                f'{len(names)} numbers from {blocks} blocks of {BLOCK_S:g} s: a log must be'
                f' longer, {len(names) + 3} blocks at least')

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """Return the differences of model and log, (windows, marks, 6 or 12)."""
        named = dict(zip(self.names, values.tolist()))
        try:
            vehicle = Vehicle.from_mapping('identified', changed(self.content, named))
        except ParameterError:        # no such body: the search has to turn back from there
            return np.full(self.shape, _LOST)
        found = []
        for window in self.windows:
            flight = with_values(window.flight, named)
            states = open_loop.fly(
                flight, vehicle, window.starts, window.marks, turning=self.turning)
            true = open_loop.logged(flight, window.starts[:, None] + np.array(window.marks))
            found.append(open_loop.differences(states, true))
        everything = np.concatenate(found)[..., :self.shape[-1]]
        bounded: np.ndarray = np.clip(np.nan_to_num(everything, nan=_LOST), -_LOST, _LOST)
        return bounded

    def begin(self) -> np.ndarray:
        """Return the numbers of the file."""
        return np.array([value_of(self.content, name) for name in self.names])

    def block_of_residual(self) -> np.ndarray:
        """Return the block of each window."""
        return np.concatenate([window.blocks for window in self.windows])

    def without(self, name: str) -> Problem:
        """Return the same with one number less."""
        return Problem([window.flight for window in self.windows], self.content,
                       [other for other in self.names if other != name], self.horizon_s,
                       self.turning)

    def perturbed(self) -> tuple[list[Problem], list[Problem]]:
        """Return the same with flights of `RealFlight.perturbed`."""
        seldom, late = zip(*(window.flight.perturbed() for window in self.windows))
        of_seldom, of_late = ([Problem(flights, self.content, self.names, self.horizon_s,
                                       self.turning) for flights in zip(*kind)]
                              for kind in (seldom, late))
        return of_seldom, of_late


def spreads(residuals: np.ndarray) -> np.ndarray:
    """Return the weights' spreads, (marks, k): one for each mark and kind of residual."""
    marks = residuals.shape[1]
    kinds = residuals.reshape(len(residuals), marks, -1, 3)
    # The median, so that a few windows that got lost do not hide all others.
    found = np.sqrt(np.median(kinds ** 2, axis=(0, 3))) / 0.6745
    repeated: np.ndarray = np.repeat(np.maximum(found, 1e-12), 3, axis=1)
    return repeated


def fit(
    flights: typing.Sequence[RealFlight], content: Content, names: typing.Sequence[str],
    horizon_s: float = 0.5, asked: typing.Container[str] = (),
) -> Fit:
    """Identify numbers of a vehicle from logs.

    :param content: of the vehicle file, where the search begins
    :param names: of `NAMED`
    :param horizon_s: how long the model flies open loop
    :param asked: those that must be identified; of the others what the logs cannot tell keeps
        the value of the file
    """
    refused: list[tuple[str, str]] = []

    def refuse(name: str, why: str) -> None:
        if name in asked:
            raise ParameterError(f'fit {name}: the log does not determine it: {why}')
        refused.append((name, why))

    known = already_measured(flights) | unexplained_torques(
        flights, Vehicle.from_mapping('vehicle file', content))
    for name in names:
        if name in known:
            refuse(name, known[name])
    kept = [name for name in names if name not in known]
    turning = open_loop.FREE if any(NAMED[name].turns for name in kept) else open_loop.LOGGED
    problem = Problem(flights, content, kept, horizon_s, turning)
    values = problem.begin()
    widths = np.zeros(0)
    least: dict[str, float] = {}
    while problem.names:
        found = unobservable(_jacobian(problem, values), problem.names)
        if found is None:
            values, widths = _solved(problem, values)
            found = widest(problem, values, widths)
            if found is not None:
                # A refused number stays as in the file, which may be wrong by so much.
                least = {name: max(width, least.get(name, 0.0)) if width <= abs(value) else
                         least.get(name, 0.0) for name, value, width in zip(
                             problem.names, values.tolist(), widths.tolist())}
        if found is None:
            break
        refuse(*found)
        values = np.delete(values, problem.names.index(found[0]))
        problem = problem.without(found[0])
    if not problem.names:
        raise ParameterError('the log determines none of the numbers that are sought')
    return Fit(
        tuple(Estimate(*found) for found in zip(
            problem.names, problem.begin().tolist(), values.tolist(), np.maximum(widths, [
                least.get(name, 0.0) for name in problem.names]).tolist())),
        tuple(refused), problem.count, problem.blocks, turning)


def already_measured(flights: typing.Sequence[RealFlight]) -> dict[str, str]:
    """Return the numbers that are not sought, by name: in the logs, or in no motion."""
    known = {'body.mass_kg': 'only forces per mass can be seen in a motion; weigh it'}
    if any(flight.wind_m_s is not None for flight in flights):
        known |= {name: 'the log has it' for name in NAMED if name.startswith('wind')}
    return known


def unexplained_torques(
    flights: typing.Sequence[RealFlight], vehicle: Vehicle,
) -> dict[str, str]:
    """Return which numbers about torques the logs cannot tell, and why.

    Without roll and pitch the attitude is that of the log, so yaw is not identified either.
    """
    shares = np.mean([open_loop.torque_shares(flight, vehicle) for flight in flights], axis=0)
    axes = 'xyz' if min(shares[:2]) < EXPLAINED else 'z' if shares[2] < EXPLAINED else ''
    explained = ', '.join(f'{share:.0%}' for share in shares)
    return {name: f'its motors explain only {explained} of how roll, pitch and yaw rate change; it'
                  f' must be {EXPLAINED:.0%}'
            for name, found in NAMED.items() if set(found.turns) & set(axes)}


def _jacobian(problem: Problem, values: np.ndarray) -> np.ndarray:
    """Return how weighted residuals change with each number / its scale, (m, names)."""
    base = problem.residuals(values)
    weights = 1.0 / spreads(base)
    columns = []
    for i, scale in enumerate(problem.scales):
        moved = values.copy()
        moved[i] += _DIFFERENCE * scale
        columns.append(((problem.residuals(moved) - base) * weights / _DIFFERENCE).ravel())
    return np.stack(columns, axis=-1)


def unobservable(jacobian: np.ndarray, names: typing.Sequence[str]) -> tuple[str, str] | None:
    """Return a number that the residuals cannot tell, and why; None if they can tell all."""
    sizes = np.linalg.norm(jacobian, axis=0)
    least = int(np.argmin(sizes))
    if sizes[least] <= _NOTHING * sizes.max():
        return names[least], 'it changes nothing in this log'
    _, singular, rows = np.linalg.svd(jacobian / sizes, full_matrices=False)
    if singular[-1] > _TOGETHER:
        return None
    members = [i for i in np.argsort(-np.abs(rows[-1])) if abs(rows[-1, i]) > 0.3]
    order = list(NAMED)
    last = max(members, key=lambda i: order.index(names[i]))
    others = ', '.join(names[i] for i in members if i != last)
    return names[last], f'it does to the motion what {others} does'


def _solved(problem: Problem, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of least squares, and the half widths of their intervals."""
    bounds = problem.least / problem.scales, np.full(len(values), np.inf)
    z = values / problem.scales
    for _ in range(_ROUNDS):
        weights = _weights(problem.residuals(z * problem.scales))

        def weighted(z: np.ndarray, weights: np.ndarray = weights) -> np.ndarray:
            found: np.ndarray = (problem.residuals(z * problem.scales) * weights).ravel()
            return found
        solution = optimize.least_squares(
            weighted, z, bounds=bounds, x_scale='jac', diff_step=_DIFFERENCE, ftol=1e-6,
            xtol=1e-6, max_nfev=40)
        z = solution.x
    widths = lasting_half_widths(solution.jac, solution.fun, np.repeat(
        problem.block_of_residual(), len(solution.fun) // problem.count))

    def moved(other: Problem) -> np.ndarray:
        change = (other.residuals(z * problem.scales) * weights).ravel() - solution.fun
        found: np.ndarray = np.abs(np.linalg.lstsq(solution.jac, change, rcond=None)[0])
        return found
    seldom, late = ([moved(other) for other in kind] for kind in problem.perturbed())
    full = np.asarray(problem.scales * np.sqrt(
        widths ** 2 + (SELDOM * np.max(seldom, axis=0)) ** 2 + np.sum(np.square(late), axis=0)))
    return z * problem.scales, full


def half_widths(
    jacobian: np.ndarray, residuals: np.ndarray, blocks: np.ndarray,
) -> np.ndarray:
    """Return half the width of the interval of each number that least squares have found.

    :param jacobian: (m, numbers)
    :param residuals: (m,)
    :param blocks: (m,), the block of each residual, from 0 on
    """
    count, numbers = int(blocks.max()) + 1, jacobian.shape[1]
    summed = np.zeros((count, numbers))
    np.add.at(summed, blocks, jacobian * residuals[:, None])
    bread = _bread(jacobian)
    covariance = bread @ (summed.T @ summed) @ bread * count / (count - 1)
    found: np.ndarray = stdtrit(count - numbers, 0.5 + 0.5 * CONFIDENCE) * np.sqrt(
        np.diag(covariance))
    return found


def _bread(jacobian: np.ndarray) -> np.ndarray:
    """Return the inverse of the information that residuals hold.

    :raises ParameterError: of some number they hold none
    """
    try:
        return np.linalg.inv(jacobian.T @ jacobian)
    except np.linalg.LinAlgError as error:
        raise ParameterError('the log determines none of the numbers that are sought') from error


def lasting_half_widths(
    jacobian: np.ndarray, residuals: np.ndarray, blocks: np.ndarray,
) -> np.ndarray:
    """Return `half_widths`, or wider ones if residuals last longer than a block."""
    count = int(blocks.max()) + 1
    summed = np.zeros((count, jacobian.shape[1]))
    np.add.at(summed, blocks, jacobian * residuals[:, None])
    cosines = min(_COSINES, count - 1)
    waves = np.sqrt(2.0) * np.cos(np.pi * np.outer(
        np.arange(1, cosines + 1), (np.arange(count) + 0.5) / count))
    slow = stdtrit(cosines, 0.5 + 0.5 * CONFIDENCE) * np.sqrt(np.mean(
        (waves @ summed @ _bread(jacobian)) ** 2, axis=0))
    found: np.ndarray = np.maximum(slow, half_widths(jacobian, residuals, blocks))
    return found


def _weights(residuals: np.ndarray) -> np.ndarray:
    """Return the weight of each residual: by the spread of its kind, and less far out (Huber)."""
    weights = 1.0 / spreads(residuals)
    far = np.maximum(np.abs(residuals) * weights / _FAR, 1.0)
    found: np.ndarray = weights / np.sqrt(far)
    return found


def widest(
    problem: Problem, values: np.ndarray, widths: np.ndarray,
) -> tuple[str, str] | None:
    """Return the number that is identified worst if its interval says nothing, and why."""
    # A number of either sign may be 0: it is identified if its interval is within its scale.
    size = np.abs(values)
    size[problem.least < 0.0] = np.maximum(size, problem.scales)[problem.least < 0.0]
    ratio = widths / np.maximum(size, 1e-30)
    worst = int(np.argmax(ratio))
    if ratio[worst] <= 1.0:
        return None
    found = NAMED[problem.names[worst]]
    return found.name, (f'its interval would be {values[worst]:.3g} +- {widths[worst]:.2g}'
                   f' {found.unit}'.rstrip())
