# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight that was flown, whatever logged it: motion, motors and battery over one time grid."""
from __future__ import annotations

import dataclasses
import typing

import numpy as np

from px4_sim_ros.model.environment.atmosphere import STANDARD, STANDARD_GRAVITY_M_S2
from px4_sim_ros.model.environment.gravity import Gravity
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.world import Environment

_BREAK_S = 600.0
_LATE_S = 0.005                # the lag of a signal behind another that a log does not tell


def standard_environment(altitude_m: float = 0.0) -> Environment:
    """Return standard gravity and the standard atmosphere at a home of some altitude."""
    return Environment(Gravity.uniform(STANDARD_GRAVITY_M_S2), STANDARD, altitude_m)


@dataclasses.dataclass(frozen=True)
class RealFlight:
    """What a log tells of a flight, sampled every `period_s`; None is what it does not tell.

    Axes are ENU and FLU, quaternions (w, x, y, z), as everywhere in the model.
    """

    name: str
    period_s: float
    position_m: np.ndarray             # (n, 3), ENU
    velocity_m_s: np.ndarray           # (n, 3), ENU
    attitude: np.ndarray               # (n, 4), body to world
    rate_rad_s: np.ndarray             # (n, 3), FLU
    usable: np.ndarray                 # (n,), bool: in the air, all known, no gap and no reset
    commands: np.ndarray | None = None             # (n, rotors), 0..1, each held to the next
    # Those from every other of the samples from which the commands are; None: nothing is between.
    seldom_commands: np.ndarray | None = None      # (n, 2, rotors)
    rotor_speeds_rad_s: np.ndarray | None = None   # (n, rotors), measured
    bus_voltage_v: np.ndarray | None = None        # (n,)
    bus_current_a: np.ndarray | None = None        # (n,)
    wind_m_s: np.ndarray | None = None             # (n, 3), ENU, as the log estimates it
    specific_force_m_s2: np.ndarray | None = None  # (n, 3), FLU, of its accelerometer
    start_s: float = 0.0                           # of the log's clock at the first sample
    environment: Environment = standard_environment()
    facts: tuple[tuple[str, str], ...] = ()        # name and text, for the page
    unknown: tuple[str, ...] = ()                  # a sentence each: what it cannot tell
    repaired: str = ''                             # what was sorted and dropped in the log
    px4_tuning: tuple[tuple[str, float], ...] = ()  # parameters of its rate and attitude loops

    def __post_init__(self) -> None:
        """Check that it can be flown."""
        if self.commands is None and self.rotor_speeds_rad_s is None:
            raise ParameterError(
                f'log {self.name}: has neither motor commands nor rotor speeds')
        if not self.usable.any():
            raise ParameterError(f'log {self.name}: nothing of it is a flight without gaps')

    @property
    def samples(self) -> int:
        return len(self.usable)

    @property
    def time_s(self) -> np.ndarray:
        """Time of each sample since the first, (n,)."""
        return np.arange(self.samples) * self.period_s

    @property
    def usable_s(self) -> float:
        """How long it is in the air and without gaps."""
        return float(self.usable.sum()) * self.period_s

    @property
    def rotors(self) -> int:
        """How many motors it tells of."""
        motors = self.commands if self.rotor_speeds_rad_s is None else self.rotor_speeds_rad_s
        assert motors is not None
        return int(motors.shape[1])

    def starts(self, length: int, every: int) -> np.ndarray:
        """Return where windows of usable samples begin."""
        broken = np.concatenate(([0], np.cumsum(~self.usable)))
        first = np.arange(0, self.samples - length, every)
        starts: np.ndarray = first[broken[first + length + 1] == broken[first]]
        return starts

    def perturbed(self) -> tuple[list[RealFlight], list[RealFlight]]:
        """Return the flight with commands from every other sample, and with late signals.

        What an estimate changes by these is an uncertainty of it that shows in no residual.
        """
        if self.seldom_commands is None or self.commands is None:
            return [self, self], [self, self]
        rows = np.arange(self.samples)

        def late(values: np.ndarray) -> np.ndarray:
            return between(rows + _LATE_S / self.period_s, values, rows)
        return [dataclasses.replace(self, commands=self.seldom_commands[:, k]) for k in (0, 1)], [
            dataclasses.replace(self, commands=late(self.commands)),
            dataclasses.replace(self, position_m=late(self.position_m),
                                velocity_m_s=late(self.velocity_m_s))]

    def part(self, first: int, last: int) -> RealFlight:
        """Return the flight with only the samples from `first` up to before `last`."""
        def cut(values: np.ndarray | None) -> typing.Any:
            return None if values is None else values[first:last]
        return dataclasses.replace(self, start_s=self.start_s + first * self.period_s, **{
            field.name: cut(getattr(self, field.name)) for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)})


class Kept(typing.NamedTuple):
    """Which rows of a log are used, in the order of their times, and what was done for that."""

    rows: np.ndarray           # indices
    sorted: int                # rows that stood behind a later one
    dropped: int


def kept(times_s: np.ndarray, good: np.ndarray) -> Kept:
    """Return the rows that are good, sorted by time, and one of each time.

    A time that is more than `_BREAK_S` away from the others is wrong: a log has no such pause.

    :param times_s: (n,), of rows as they stand in the log
    :param good: (n,), bool: their values can be used
    """
    rows = np.flatnonzero(good & np.isfinite(times_s))
    rows = rows[np.argsort(times_s[rows], kind='stable')]
    rows = rows[np.diff(times_s[rows], prepend=-np.inf) > 0.0]
    if len(rows):
        pauses = np.flatnonzero(np.diff(times_s[rows]) > _BREAK_S) + 1
        rows = max(np.split(rows, pauses), key=len)
    stood = times_s[np.sort(rows)]
    late = int(np.sum(stood < np.maximum.accumulate(stood)))
    return Kept(rows, late, len(times_s) - len(rows))


def repairs(name: str, done: typing.Mapping[str, Kept]) -> str:
    """Return the sentence that counts what was sorted and dropped, '' if nothing was."""
    parts = [f'{what} {one.sorted} sorted, {one.dropped} dropped'
             for what, one in done.items() if one.sorted or one.dropped]
    return f'log {name}: repaired by time and value: {"; ".join(parts)}' if parts else ''


def held(times_s: np.ndarray, values: np.ndarray, grid_s: np.ndarray) -> np.ndarray:
    """Return the last of values that came up to each time of a grid; before the first, that."""
    place = np.clip(np.searchsorted(times_s, grid_s, side='right') - 1, 0, None)
    found: np.ndarray = values[place]
    return found


def between(times_s: np.ndarray, values: np.ndarray, grid_s: np.ndarray) -> np.ndarray:
    """Return values at each time of a grid, linear between rows of values."""
    return np.stack([np.interp(grid_s, times_s, column) for column in values.T], axis=1)


def has_samples(times_s: np.ndarray, grid_s: np.ndarray, most: float = 3.0) -> np.ndarray:
    """Return which times of a grid are between two samples that are not far apart."""
    gap_s = most * float(np.median(np.diff(times_s)))
    after = np.searchsorted(times_s, grid_s, side='right')
    inside = (after > 0) & (after < len(times_s))
    after = np.clip(after, 1, len(times_s) - 1)
    found: np.ndarray = inside & (times_s[after] - times_s[after - 1] <= gap_s)
    return found
