# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The samples of an IMU in a ULog of PX4, and when they are of a vehicle at rest or in flight."""
from __future__ import annotations

import pathlib
import typing

import numpy as np

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.real.flight import held
from px4_sim_ros.real.ulog import Topics

_TOPIC = 'sensor_combined'
_GAP, _LOST = 1.5, 2.5         # times the usual distance: a sample is missing; more than one is
_LEAST_HZ = 50.0
_LEAST_ROWS = 50               # a second of the slowest; a filter needs rows before its first
_REST_S = 0.5                  # a piece that is looked at
# At rest a piece is not much noisier than the calmest of the log.
_CALM = 2.0


class ImuLog(typing.NamedTuple):
    """What one IMU has measured, in its own axes, and where the log has it whole."""

    name: str
    time_s: np.ndarray             # (n,)
    accel: np.ndarray              # (n, 3), m/s^2
    gyro: np.ndarray               # (n, 3), rad/s
    airborne: np.ndarray           # (n,), bool
    facts: tuple[tuple[str, str], ...]
    repaired: str = ''             # as `RealFlight.repaired`

    @property
    def period_s(self) -> float:
        """Time from one sample to the next."""
        return float(np.median(np.diff(self.time_s)))

    def pieces(self, chosen: np.ndarray, length: int, gap: float = _GAP) -> list[slice]:
        """Return pieces of so many samples in which all are chosen and none is missing.

        :param gap: longest distance of two samples, as a share of the usual one
        """
        whole = np.append(np.diff(self.time_s) <= gap * self.period_s, True) & chosen
        broken = np.concatenate(([0], np.cumsum(~whole)))
        found, first = [], 0
        while first + length <= len(whole):
            if broken[first + length] == broken[first]:
                found.append(slice(first, first + length))
                first += length
            else:
                first += 1
        return found

    def at_rest(self) -> slice | None:
        """Return the longest part on the ground in which nothing shakes it; None if there is none.

        Motors that idle shake it: only what is as calm as the calmest half a second is at rest. A
        sample may be missing here and there, which noise does not notice.
        """
        length = max(2, round(_REST_S / self.period_s))
        pieces = self.pieces(~self.airborne, length, _LOST)
        if not pieces:
            return None
        noise = np.array([[
            np.diff(values[piece], axis=0).std() for values in (self.accel, self.gyro)]
            for piece in pieces])
        calm = (noise <= _CALM * noise.min(axis=0)).all(axis=1)
        best: list[slice] = []
        run: list[slice] = []
        for piece, is_calm in zip(pieces, calm):
            follows = bool(run) and run[-1].stop == piece.start
            run = ([*run, piece] if follows else [piece]) if is_calm else []
            best = max(best, run, key=len)
        return slice(best[0].start, best[-1].stop) if best else None


def read_imu(path: str | pathlib.Path) -> ImuLog:
    """Read the IMU of a log, as PX4 integrates it (`sensor_combined`)."""
    topics = Topics(pathlib.Path(path).expanduser())
    times, rows = topics.samples(_TOPIC, *(
        f'{name}[{i}]' for name in ('accelerometer_m_s2', 'gyro_rad') for i in range(3)))
    if len(times) < _LEAST_ROWS:
        raise ParameterError(f'log {topics.name}: has {len(times)} rows of {_TOPIC} that can be'
                             f' used; it takes at least {_LEAST_ROWS}')
    rate_hz = 1.0 / float(np.median(np.diff(times)))
    if rate_hz < _LEAST_HZ:
        raise ParameterError(f'log {topics.name}: has {_TOPIC} at {rate_hz:.3g} Hz; noise takes at'
                             f' least {_LEAST_HZ:g} Hz')
    landed = 'vehicle_land_detected'
    airborne = held(*topics.samples(landed, 'landed'), times)[:, 0] < 0.5 if topics.has(
        landed) else np.ones(len(times), bool)
    return ImuLog(
        topics.name, times, rows[:, :3], rows[:, 3:], airborne,
        (('hardware', str(topics.log.msg_info_dict.get('ver_hw', 'unknown'))),
         ('samples of the IMU', f'{rate_hz:.0f} Hz')), topics.repaired)
