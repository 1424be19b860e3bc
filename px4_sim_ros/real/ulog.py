# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight from a ULog of PX4."""
from __future__ import annotations

import contextlib
import io
import math
import pathlib
import re
import struct
import typing
import warnings

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.ndimage import binary_dilation
from scipy.spatial.transform import Rotation, Slerp

from px4_sim_ros.model import frames
from px4_sim_ros.model.errors import InputWarning, ParameterError, check_installed, sentence
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.vehicle import MOST_ROTORS
from px4_sim_ros.real.flight import (
    Kept,
    RealFlight,
    between,
    has_samples,
    held,
    kept,
    repairs,
    standard_environment,
)
from px4_sim_ros.spec.resources import check_regular

# Motor commands from PX4's set points of thrust and torque, as its control allocation makes them.
#
# A log has set points more often than motors. The matrix is the pseudo-inverse of the rotors'
# effectiveness with PX4's normalisation: a roll or pitch set point of 1 moves the motors by the
# root of twice the mean square of its column, one of yaw the motor that moves most by 1, one of
# thrust all by 1 on average (PX4, modules/control_allocator, ControlAllocationPseudoInverse).
# What a motor cannot do is cut off; PX4 gives it to others first, which matters near full and no
# thrust only.

_ROLL, _PITCH, _YAW, _FIRST_FORCE = 0, 1, 2, 3
_TINY = 1e-3                   # PX4 takes less for nothing
_IDLE = 1e-6
_KEYS = 'PX', 'PY', 'PZ', 'AX', 'AY', 'AZ', 'CT', 'KM'


def mixer(parameters: typing.Mapping[str, float]) -> np.ndarray | None:
    """Return motors / (roll, pitch, yaw, x, y, z) set points, (rotors, 6); None if not known.

    :param parameters: PX4's `CA_ROTOR...`, of which a log has those that its PX4 uses: none before
        PX4 1.13, no axes of the rotors of a plane
    """
    count = int(parameters.get('CA_ROTOR_COUNT', 0))
    if not 0 < count <= MOST_ROTORS or any(f'CA_ROTOR{i}_{key}' not in parameters
                        for i in range(count) for key in _KEYS):
        return None
    effects = np.zeros((6, count))
    for i in range(count):
        position, along = (np.array([parameters[f'CA_ROTOR{i}_{kind}{k}'] for k in 'XYZ'])
                           for kind in 'PA')
        length = np.linalg.norm(along)
        if length == 0.0:
            return None
        along = along / length
        thrust = parameters[f'CA_ROTOR{i}_CT']
        spin = parameters[f'CA_ROTOR{i}_KM']
        effects[:3, i] = thrust * (np.cross(position, along) - spin * along)
        effects[3:, i] = thrust * along
    mix = np.linalg.pinv(effects)
    scale = max(_spread(mix[:, _ROLL]), _spread(mix[:, _PITCH]))
    if scale > 0.0:
        mix[:, :_YAW] /= scale
    if mix[:, _YAW].max() > 0.0:
        mix[:, _YAW] /= mix[:, _YAW].max()
    moved = np.abs(mix[:, _FIRST_FORCE:])
    for axis, column in enumerate(moved.T, _FIRST_FORCE):
        if (column > _IDLE).any():
            mix[:, axis] /= column.sum() / (column > _IDLE).sum()
    mix[np.abs(mix) < _TINY] = 0.0
    return mix


def _spread(column: np.ndarray) -> float:
    """Return the root of twice the mean square of what a set point moves."""
    moved = int((np.abs(column) > _TINY).sum())
    return float(np.sqrt(np.sum(column ** 2) / (moved / 2.0))) if moved else 0.0


def motors(mix: np.ndarray, torque: np.ndarray, thrust: np.ndarray) -> np.ndarray:
    """Return motor commands 0..1 from set points in FRD, (n, rotors)."""
    found: np.ndarray = np.clip(np.concatenate((torque, thrust), axis=1) @ mix.T, 0.0, 1.0)
    return found


def thrust_model(commands: np.ndarray, factor: float) -> np.ndarray:
    """Return PX4's motor command for a share of thrust, by its THR_MDL_FAC.

    It solves factor * u^2 + (1 - factor) * u = command.
    """
    if factor <= 0.0:
        return commands
    linear = 1.0 - factor
    found: np.ndarray = (np.sqrt(linear ** 2 + 4.0 * factor * commands) - linear) / (2.0 * factor)
    return found


_PERIOD_S = 0.01
_NEAR_GROUND_S = 2.0           # after take-off and before landing: ground effect, feet
_MOST = 1e6                    # a value beyond is none that a flight has
_HIGHEST_M = 20e3              # of a place from which vehicles fly
_OFF_UNIT = 0.01               # of a quaternion
_FEW_LOST = 20.0               # times the distance of two samples of the IMU: no gap yet
# Gains and filters; MC_AT_ is what finds gains by itself in flight.
_TUNING = re.compile(r'MC_(?!AT_)|IMU_(D?GYRO|ACCEL)_CUTOFF$')
_POSITION, _ATTITUDE = 'vehicle_local_position', 'vehicle_attitude'
_RATE, _IMU = 'vehicle_angular_velocity', 'sensor_combined'
_ACCEL = tuple(f'accelerometer_m_s2[{i}]' for i in range(3))
_RESETS = 'xy_reset_counter', 'z_reset_counter', 'vxy_reset_counter', 'vz_reset_counter'


class _Noting(io.BufferedReader):
    """A file that notes when it ends before what is asked for: within a message of a ULog.

    It is read as if all were there: pyulog looks for the next message from there backwards, and
    would go round for ever. Many zeros, as a loss of power leaves them, are the end as well: each
    three of them would be a message.
    """

    is_cut = False
    _ZEROS = bytes(1 << 16)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and note whether there was some of it, but not all."""
        found = super().read(size)
        if 0 < len(found) < (size or 0):
            self.is_cut = True
            self.seek(size - len(found), io.SEEK_CUR)  # type: ignore[operator]
        if found == bytes(3):
            place = self.tell()
            if super().read(len(self._ZEROS)) == self._ZEROS:
                self.is_cut = True
                self.seek(0, io.SEEK_END)
                return b''
            self.seek(place)
        return found


class Topics:
    def __init__(self, path: pathlib.Path) -> None:
        check_installed('pyulog')
        from pyulog import ULog
        from pyulog.exceptions import ULogException
        try:
            check_regular(path)
            # It prints what it could not read; `file_corruption` says so as well.
            with _Noting(io.FileIO(path)) as file, contextlib.redirect_stdout(io.StringIO()):
                self.log = ULog(file)
        except (OSError, ULogException, struct.error, TypeError, ValueError, LookupError) as error:
            raise ParameterError(f'log {path}: no ULog: {sentence(error)}') from error
        self.name = path.stem
        damage = 'is damaged' if self.log.file_corruption else (
            'ends too early' if file.is_cut else '')
        rows = sum(len(next(iter(data.data.values()))) for data in self.log.data_list)
        self.damage = damage and f'log {path}: {damage}; {rows} rows of it could be read'
        if self.damage:
            warnings.warn(self.damage, InputWarning, stacklevel=2)
        self._found = {(data.name, data.multi_id): data.data for data in self.log.data_list}
        self._repairs: dict[str, Kept] = {}
        # A damaged file has text and worse in their place.
        self.parameters = {name: float(value) for name, value in
                           self.log.initial_parameters.items() if _is_number(value)}

    def has(self, topic: str) -> bool:
        """Return whether there are two rows of it at least."""
        return len(self._of(topic).get('timestamp', ())) > 1

    @property
    def repaired(self) -> str:
        """What is damaged, and how many rows were sorted and dropped, '' without any."""
        return '; '.join(filter(None, (self.damage, repairs(self.name, self._repairs))))

    def samples(
        self, topic: str, *fields: str, gaps: bool = False, turns: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of a topic, s, and fields of it as columns, (n, fields).

        Times are those of the samples where the topic has them. They ascend: rows are sorted, and
        those that cannot be used are left out, see `repaired`.

        :param gaps: a row may have values that are not finite
        :param turns: the fields are a quaternion
        """
        data = self._of(topic)
        if not self.has(topic):
            raise ParameterError(f'log {self.name}: has no {topic}')
        times = data.get('timestamp_sample', data['timestamp'])
        times = times if times.all() else data['timestamp']
        values = self._columns(topic, *fields)
        good = np.ones(len(values), bool) if gaps else (np.abs(values) <= _MOST).all(axis=1)
        if turns:
            good &= np.abs(np.linalg.norm(values, axis=1) - 1.0) <= _OFF_UNIT
        found = kept(times.astype(float) / US_PER_S, good)
        before = self._repairs.get(topic)
        if before is None or found.dropped > before.dropped:
            self._repairs[topic] = found
        if len(found.rows) < 2:
            raise ParameterError(f'log {self.name}: {topic} has {len(found.rows)} rows that can be'
                                 f' used, of {len(values)}; it takes 2')
        return times[found.rows].astype(float) / US_PER_S, values[found.rows]

    def motors(self) -> list[str]:
        """Return the fields of `actuator_motors` that are not NaN throughout."""
        topic = 'actuator_motors'
        fields = [field for field in (f'control[{i}]' for i in range(MOST_ROTORS))
                  if field in self._of(topic)]
        found = [field for field in fields if np.isfinite(self._columns(topic, field)).any()]
        if not found:
            raise ParameterError(f'log {self.name}: actuator_motors has no motor that is commanded')
        return found

    def _columns(self, topic: str, *fields: str) -> np.ndarray:
        data = self._of(topic)
        for field in fields:
            if field not in data:
                raise ParameterError(f'log {self.name}: {topic} has no {field}')
            if data[field].dtype.kind not in 'fiu':
                raise ParameterError(f'log {self.name}: {topic}.{field} has text, and no numbers')
        with np.errstate(invalid='ignore'):      # NaN of each kind stays NaN
            return np.stack([data[field].astype(float) for field in fields], axis=1)

    def _of(self, topic: str) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = self._found.get((topic, 0), {})
        return found


def _is_number(value: typing.Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


class _Commands(typing.NamedTuple):
    """The commands of the motors over the grid."""

    values: np.ndarray             # (n, rotors)
    usable: np.ndarray             # (n,)
    source: str
    seldom: np.ndarray             # (n, 2, rotors), see `RealFlight.seldom_commands`
    check: str                     # how well they are rebuilt, '' if they are not


def read_ulog(path: pathlib.Path) -> RealFlight:
    """Read a log of PX4, as its estimator has the motion, every 10 ms.

    Motor commands come from the set points if the control allocation is known (PX4 1.13 and
    later), else from the motors that are logged.
    """
    topics = Topics(path)
    moved = topics.samples(_POSITION, 'x', 'y', 'z', 'vx', 'vy', 'vz')
    turned = topics.samples(_ATTITUDE, *(f'q[{i}]' for i in range(4)), turns=True)
    times, frd = topics.samples(_RATE, *(f'xyz[{i}]' for i in range(3)))
    spans = [moved[0], turned[0], times]
    first, last = max(times[0] for times in spans), min(times[-1] for times in spans)
    if last - first < _PERIOD_S:
        raise ParameterError(f'log {topics.name}: {_POSITION}, {_ATTITUDE} and {_RATE} have no time'
                             ' in common')
    grid = np.arange(first, last, _PERIOD_S)
    grid = grid[grid <= last]                      # by rounding, one may be behind it
    usable = np.ones(len(grid), bool)
    for span in spans:
        usable &= has_samples(span, grid)
    position, velocity = _translation(*moved, grid)
    commands = _commands(topics, grid)
    usable &= _in_air(topics, grid) & ~_reset(topics, grid) & commands.usable
    battery = _battery(topics, grid)
    altitude = topics.samples(_POSITION, 'ref_alt', gaps=True)[1][-1, 0]
    rates = np.array([frames.frd_to_flu(rate) for rate in frd])
    force = _specific_force(topics, grid)
    if force is not None:
        usable &= has_samples(topics.samples(_IMU, *_ACCEL)[0], grid, _FEW_LOST)
    return RealFlight(
        topics.name, _PERIOD_S, position, velocity, _attitude(*turned, grid),
        between(times, rates, grid), usable, commands=commands.values,
        seldom_commands=commands.seldom,
        bus_voltage_v=None if battery is None else battery[:, 0],
        bus_current_a=None if battery is None else battery[:, 1],
        wind_m_s=_wind(topics, grid), specific_force_m_s2=force, start_s=float(grid[0]),
        environment=standard_environment(altitude if abs(altitude) <= _HIGHEST_M else 0.0),
        facts=tuple(_facts(topics, commands)), unknown=tuple(_unknown(topics)),
        repaired=topics.repaired, px4_tuning=tuple(_tuning(topics)))


def _translation(
    times: np.ndarray, rows: np.ndarray, grid: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity in ENU, by cubics through positions with these velocities."""
    position, velocity = (np.array([frames.ned_to_enu(row) for row in part])
                          for part in (rows[:, :3], rows[:, 3:]))
    return CubicHermiteSpline(times, position, velocity)(grid), between(times, velocity, grid)


def _attitude(times: np.ndarray, rows: np.ndarray, grid: np.ndarray) -> np.ndarray:
    wxyz = np.array([frames.quaternion_enu_flu_to_ned_frd(q) for q in rows])
    turns = Rotation.from_quat(wxyz, scalar_first=True)
    found: np.ndarray = Slerp(times, turns)(grid).as_quat(scalar_first=True)
    return found


def _in_air(topics: Topics, grid: np.ndarray) -> np.ndarray:
    """Return when it is in the air, and no more near the ground."""
    topic = 'vehicle_land_detected'
    if not topics.has(topic):
        return np.ones(len(grid), bool)
    landed = held(*topics.samples(topic, 'landed'), grid)[:, 0] > 0.5
    margin = round(_NEAR_GROUND_S / _PERIOD_S)
    found: np.ndarray = ~binary_dilation(landed, np.ones(2 * margin + 1, bool))
    return found


def _reset(topics: Topics, grid: np.ndarray) -> np.ndarray:
    """Return between which samples the estimator jumped, or had no velocity."""
    times, counts = topics.samples(_POSITION, *_RESETS)
    valid = topics.samples(_POSITION, 'v_xy_valid', 'v_z_valid')[1]
    after = np.clip(np.searchsorted(times, grid, side='right'), 1, len(times) - 1)
    jumped = (counts[after] != counts[after - 1]).any(axis=1)
    found: np.ndarray = jumped | (valid[after] < 0.5).any(axis=1) | (valid[after - 1] < 0.5).any(
        axis=1)
    return found


def _commands(topics: Topics, grid: np.ndarray) -> _Commands:
    factor = topics.parameters.get('THR_MDL_FAC', 0.0)
    mix = mixer(topics.parameters)
    # A command is held to the next sample of the grid: half way is what it is on average.
    middle = grid + 0.5 * _PERIOD_S
    torque, thrust = 'vehicle_torque_setpoint', 'vehicle_thrust_setpoint'
    if mix is not None and topics.has(torque) and topics.has(thrust):
        xyz = 'xyz[0]', 'xyz[1]', 'xyz[2]'
        times, torques = topics.samples(torque, *xyz)
        shares = motors(
            mix, torques, between(*topics.samples(thrust, *xyz), times))
        return _Commands(
            thrust_model(between(times, shares, middle), factor),
            has_samples(times, grid), f'rebuilt from set points by the control allocation,'
            f' {1.0 / np.median(np.diff(times)):.0f} Hz',
            thrust_model(_seldom(times, shares, middle), factor),
            _check(topics, times, shares))
    topic = 'actuator_motors'
    if not topics.has(topic):
        raise ParameterError(f'log {topics.name}: has no {topic}, and no set points with the'
                             ' parameters of a control allocation, as PX4 1.13 and later log them')
    times, rows = topics.samples(topic, *topics.motors(), gaps=True)
    rows = np.nan_to_num(rows)                     # NaN: PX4 stops it
    sent = thrust_model(np.clip(rows, 0.0, 1.0), factor)
    return _Commands(
        between(times, sent, middle), has_samples(times, grid),
        f'{topic}, {1.0 / np.median(np.diff(times)):.0f} Hz', _seldom(times, sent, middle), '')


def _seldom(times: np.ndarray, rows: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return every other row, the even and the odd ones, (n, 2, columns)."""
    return np.stack([between(times[k::2], rows[k::2], grid) for k in (0, 1)], axis=1)


def _check(topics: Topics, times: np.ndarray, shares: np.ndarray) -> str:
    """Return how far rebuilt motor commands are from those that were logged, '' without any."""
    if not topics.has('actuator_motors'):
        return ''
    fields = [f'control[{i}]' for i in range(shares.shape[1])]
    at, true = topics.samples('actuator_motors', *fields, gaps=True)
    inside = (at >= times[0]) & (at <= times[-1]) & (true > 0.05).all(axis=1)
    if not inside.any():
        return ''
    error = between(times, shares, at[inside]) - true[inside]
    return (f'against {int(inside.sum())} logged samples: rms'
            f' {np.sqrt(np.mean(error ** 2)):.4f}, mean {np.mean(error):+.4f}')


def _battery(topics: Topics, grid: np.ndarray) -> np.ndarray | None:
    """Return voltage and current, (n, 2); None if they are not measured."""
    topic = 'battery_status'
    if not topics.has(topic):
        return None
    times, rows = topics.samples(topic, 'voltage_v', 'current_a')
    return between(times, rows, grid) if (rows > 0.0).all(axis=1).any() else None


def _specific_force(topics: Topics, grid: np.ndarray) -> np.ndarray | None:
    """Return the specific force of the accelerometer in FLU; None if it is logged too seldom."""
    if not topics.has(_IMU):
        return None
    times, frd = topics.samples(_IMU, *_ACCEL)
    if np.median(np.diff(times)) > _PERIOD_S:
        return None
    rows = np.array([frames.frd_to_flu(row) for row in frd])
    # The integral is what is needed, and between samples of the grid there are others.
    way = np.concatenate((np.zeros((1, 3)), np.cumsum(
        np.diff(times)[:, None] * rows[1:], axis=0)))
    edges = np.append(grid, grid[-1] + _PERIOD_S) - 0.5 * _PERIOD_S
    found: np.ndarray = np.diff(between(times, way, edges), axis=0) / _PERIOD_S
    return found


def _wind(topics: Topics, grid: np.ndarray) -> np.ndarray | None:
    """Return the estimator's wind in ENU; None if it has none."""
    if not topics.has('wind'):
        return None
    times, rows = topics.samples('wind', 'windspeed_north', 'windspeed_east')
    if not np.abs(rows).any():
        return None
    rows = np.stack((rows[:, 1], rows[:, 0], np.zeros(len(rows))), axis=1)
    return between(times, rows, grid)


def _facts(topics: Topics, commands: _Commands) -> typing.Iterator[tuple[str, str]]:
    info = topics.log.msg_info_dict
    version = info.get('ver_sw_release', 0)
    version = version if isinstance(version, int) else 0
    yield 'autopilot', (f"PX4 {version >> 24}.{version >> 16 & 255}.{version >> 8 & 255} on"
                        f" {info.get('ver_hw', 'unknown hardware')}")
    yield 'airframe', str(int(topics.parameters.get('SYS_AUTOSTART', 0)))
    rates = {topic: 1.0 / np.median(np.diff(topics.samples(topic, field)[0])) for topic, field in (
        (_POSITION, 'x'), (_ATTITUDE, 'q[0]'), (_RATE, 'xyz[0]'))}
    yield 'motion', 'of the estimator: ' + ', '.join(
        f'{topic} {rate:.0f} Hz' for topic, rate in rates.items())
    yield 'motor commands', commands.source
    if commands.check:
        yield 'rebuilt commands', commands.check
    if topics.log.file_corruption:
        yield 'file', 'damaged; what could be read was used'


def _tuning(topics: Topics) -> typing.Iterator[tuple[str, float]]:
    """Yield the non-default parameters of PX4's rate and attitude loops and their filters."""
    defaults = topics.log.get_default_parameters(0) if topics.log.has_default_parameters else {}
    for name, value in sorted(topics.parameters.items()):
        # A log names the defaults of parameters that have another value, and of no others.
        if _TUNING.match(name) and defaults.get(name, value) != value:
            yield name, float(f'{value:.6g}')          # MAVLink has them in single precision


def _unknown(topics: Topics) -> typing.Iterator[str]:
    yield ('truth: position, velocity and attitude are those of the estimator, whose errors count'
           ' as errors of the model')
    yield 'mass: only forces per mass can be seen in a motion'
    if not topics.has('wind'):
        yield 'wind: taken as still air'
    if not topics.has('battery_status'):
        yield 'voltage of the battery: taken as nominal'
    if not topics.has('esc_status'):
        yield 'rotor speeds: they follow from commands, voltage and the lag of the vehicle file'
    yield 'commands between two logged set points: taken as a straight line'
