"""Numbers over time from a bag."""
from __future__ import annotations

import typing

import numpy as np

from px4_sim_ros.core.timebase import US_PER_S
from px4_sim_ros.recording.bag_reader import BagReader

_Read = typing.Callable[[typing.Any], typing.Sequence[float]]


class Series(typing.NamedTuple):
    """What one field of a topic was over time."""

    time_s: np.ndarray     # (n,), simulated
    values: np.ndarray     # (n, k)


def _xyz(vector: typing.Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _wxyz(q: typing.Any) -> tuple[float, float, float, float]:
    return q.w, q.x, q.y, q.z


# By topic of the first instance, then by field; units are in the names, frames as the graph says.
FIELDS: dict[str, dict[str, _Read]] = {
    'ground_truth/odom': {
        'position_m': lambda m: _xyz(m.pose.pose.position),
        'attitude_wxyz': lambda m: _wxyz(m.pose.pose.orientation),
        'velocity_m_s': lambda m: _xyz(m.twist.twist.linear),
        'rate_rad_s': lambda m: _xyz(m.twist.twist.angular)},
    'ground_truth/accel': {
        'acceleration_m_s2': lambda m: _xyz(m.accel.linear),
        'angular_acceleration_rad_s2': lambda m: _xyz(m.accel.angular)},
    'joint_states': {'rotor_speed_rad_s': lambda m: m.velocity},
    'actuators/command': {'rotor_speed_reference_rad_s': lambda m: m.velocity},
    'battery_state': {
        'voltage_v': lambda m: (m.voltage,), 'current_a': lambda m: (m.current,),
        'charge_ah': lambda m: (m.charge,), 'percentage': lambda m: (m.percentage,)},
    'wind': {'velocity_m_s': lambda m: _xyz(m.twist.linear)},
    'imu/data_raw': {
        'specific_force_m_s2': lambda m: _xyz(m.linear_acceleration),
        'rate_rad_s': lambda m: _xyz(m.angular_velocity)},
    'mag': {'field_t': lambda m: _xyz(m.magnetic_field)},
    'baro': {'pressure_pa': lambda m: (m.fluid_pressure,)},
    'gps/fix': {
        'geodetic_deg_m': lambda m: (m.latitude, m.longitude, m.altitude),
        'status': lambda m: (m.status.status,)},
    'gps/vel': {'velocity_m_s': lambda m: _xyz(m.twist.linear)},
    'airspeed': {'pressure_pa': lambda m: (m.fluid_pressure,)},
    'range': {'range_m': lambda m: (m.range,)},
    'optical_flow': {'rate_rad_s': lambda m: _xyz(m.vector)},
    'visual_odometry': {
        'position_m': lambda m: _xyz(m.pose.pose.position),
        'attitude_wxyz': lambda m: _wxyz(m.pose.pose.orientation),
        'velocity_m_s': lambda m: _xyz(m.twist.twist.linear)},
}


def read_series(
    bag: BagReader, topics: typing.Container[str] | None = None,
) -> dict[str, dict[str, Series]]:
    """Return the numbers of a bag, by topic and field; topics without messages have none.

    :param topics: which; all that have fields without it
    """
    kinds = {name: topic.kind for name, topic in bag.run.graph.topics.items()
             if topic.kind in FIELDS and (topics is None or name in topics)}
    times: dict[str, list[int]] = {name: [] for name in kinds}
    values: dict[str, dict[str, list]] = {
        name: {field: [] for field in FIELDS[kind]} for name, kind in kinds.items()}
    for message in bag.messages():
        if message.topic not in kinds:
            continue
        decoded = bag.decode(message)
        times[message.topic].append(message.time_us)
        for field, read in FIELDS[kinds[message.topic]].items():
            values[message.topic][field].append(read(decoded))
    return {
        name: {field: Series(np.array(times[name]) / US_PER_S, np.array(column, float))
               for field, column in values[name].items()}
        for name in kinds if times[name]}
