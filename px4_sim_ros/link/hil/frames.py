# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which frames an autopilot gets in a step, and in which order."""
from __future__ import annotations

import functools
import itertools
import math
import typing

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.link.fields import float32
from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.distances import distance_message, range_messages, sector_messages
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.odometry import odometry_message, read_odometry
from px4_sim_ros.model.environment.geodesy import (
    GeodeticPosition,
    about_up,
    place_in,
)
from px4_sim_ros.model.frames import flu_to_frd
from px4_sim_ros.model.own_blocks import MOTION, RANGE, SCAN, OwnBlockRow
from px4_sim_ros.model.rotation import multiply, yaw_rad
from px4_sim_ros.model.sensors.mounting import Mounting
from px4_sim_ros.model.sensors.optical_flow import FlowMeasurement
from px4_sim_ros.model.timebase import US_PER_S, Arrivals
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.step.block import BlockConfiguration, Inputs

TRUTH_PERIOD_US = 20_000
"""Of HIL_STATE_QUATERNION. PX4 asks for 5 ms, and logs true positions every 20 ms."""

# Optical flow, of what not every vehicle has; see also `distances` and `odometry`.
#
# What PX4 makes of each field was read from its sources: SimulatorMavlink.cpp, which takes the
# messages, VehicleOpticalFlow.cpp and EKF2.

_NO_FLOW, _BEST_FLOW = 0, 255
_UNKNOWN_DISTANCE_M = -1.0


def flow_message(m: FlowMeasurement) -> mavlink.MAVLink_hil_optical_flow_message:
    """Return the HIL_OPTICAL_FLOW of a flow: its angles over the period.

    Without a gyro of the camera (NaN) PX4 integrates its own over the same time; with the
    distance unknown it takes that of a range finder that looks down. No flow is sent as zero
    with quality 0: PX4 would drop a NaN together with the quality.
    """
    x, y, _ = flu_to_frd(m.rate_flu)
    is_valid = math.isfinite(x) and math.isfinite(y)
    period_s = m.period_us / US_PER_S
    return mavlink.MAVLink_hil_optical_flow_message(
        m.time_us,
        0,
        m.period_us,
        float32(x * period_s) if is_valid else 0.0,
        float32(y * period_s) if is_valid else 0.0,
        math.nan,
        math.nan,
        math.nan,
        0,
        _BEST_FLOW if is_valid else _NO_FLOW,
        0,
        _UNKNOWN_DISTANCE_M,
    )


class HilFrames:
    """Turns the measurements of a step into the frames that an autopilot gets.

    PX4 advances its clock with the HIL_SENSOR of id 0 and with nothing else. So it is sent in every
    step, if need be with no measurement at all. All other messages PX4 stamps with its clock when
    they come. They come before a later HIL_SENSOR: before the next one their stamp is the time of
    their measurement, and with a delay it is as much later.
    """

    def __init__(self, configuration: BlockConfiguration[HilParameters]) -> None:
        world, graph = configuration.world, configuration.graph
        # The topics of each kind, in the order of PX4's ids of the sensors.
        topics: dict[str, list[str]] = {}
        for name in graph.nodes[configuration.name].inputs:
            topics.setdefault(graph.topics[name].kind, []).append(name)
        self.first_imu, *further_imus = topics['imu/data_raw']
        self._first_magnetometer, *further_magnetometers = topics['mag']
        self._further = list(enumerate(itertools.zip_longest(
            further_imus, further_magnetometers, fillvalue=''), 1))
        encoder = self._encoder = HilEncoder(world.atmosphere())
        self.local_frame = world.local_frame()
        self.altitudes_m = self.local_frame.origin.ellipsoid_altitude_m, world.geoid_height_m
        """Of the origin of the world, and of the geoid, over the ellipsoid."""
        self._groups = {
            name: sensor for kind, sensor in (
                ('mag', 'magnetometer'), ('baro', 'barometer'), ('airspeed', 'airspeed'))
            for name in topics.get(kind, ())}
        self._delays_us, self._step_us = world.delays_us, world.step_us
        flow_period_us = world.period_us('optical_flow')
        # What comes later, in this order: the topic, its sensor, and what makes its frame.
        self._makers: list[tuple[str, str, typing.Callable[[typing.Any], bytes]]] = [
            (name, name, functools.partial(
                encoder.gps, geoid_height_m=world.geoid_height_m,
                satellites=configuration.parameters.satellites, gps_id=i,
                start_utc_us=configuration.parameters.start_utc_us))
            for i, name in enumerate(topics['gps/fix'])]
        for name, kind, message_of in (
                ('range', 'range_finder', distance_message),
                ('optical_flow', 'optical_flow', lambda flow: flow_message(
                    flow._replace(period_us=flow_period_us))),
                ('visual_odometry', 'visual_odometry', odometry_message)):
            if name in topics:
                self._makers.append((name, kind, functools.partial(_frame, encoder, message_of)))
        # What is a message already, of blocks that are added; and what makes its messages.
        rows = [row for row in world.own_blocks if row.is_for_autopilot]
        numbers = itertools.count(1)       # of range finders
        self._own_makers = {row.topic: _maker_of(
            row, next(numbers) if row.type == RANGE else 0, configuration.vehicle)
            for row in rows}
        self.reset()

    def reset(self) -> None:
        """Forget what is on its way."""
        self._clock_us = 0              # of an autopilot that has got the last HIL_SENSOR
        # In the order in which they are sent.
        self._late_frames: dict[str, Arrivals[bytes]] = {
            name: self._arrivals(kind)
            for name, kind in (*(maker[:2] for maker in self._makers),
                               *((name, name) for name in self._own_makers), ('truth', 'truth'))}
        self._kept_us = -1              # up to when the frames that come later are made
        self.truth: Truth | None = None
        """The true motion of the last HIL_SENSOR, whose frame is still to be made."""
        self._late_groups: dict[str, Arrivals[typing.Any]] = {
            topic: self._arrivals(kind) for topic, kind in self._groups.items()
            if self._delays_us[kind]}

    def _arrivals(self, kind: str) -> Arrivals[typing.Any]:
        return Arrivals(self._delays_us.get(kind, 0), self._step_us)

    def of(self, time_us: int, inputs: Inputs) -> bytes:
        """Return the frames that arrive in a step; further HIL_SENSORs come after the first.

        :param inputs: what was measured, by topic
        """
        frames = b''
        if self.truth is not None:         # compiled code was to make it
            self.make_truth()
        for late in self._late_frames.values():
            for frame in late.take(self._clock_us):
                frames += frame
        self._clock_us = time_us
        if self._late_groups:
            inputs = self._with_late_groups(time_us, inputs)
        encoder, get = self._encoder, inputs.get
        frames += encoder.sensor(
            time_us, get(self.first_imu), get(self._first_magnetometer), get('baro'),
            get('airspeed'))
        for i, (imu, magnetometer) in self._further:
            if imu in inputs or magnetometer in inputs:
                frames += encoder.sensor(time_us, get(imu), get(magnetometer), sensor_id=i)
        return frames

    # Steps that compiled code takes: see `burst`.

    @property
    def has_one_imu(self) -> bool:
        """Whether the HIL_SENSOR of id 0 is the only one."""
        return not self._further

    def is_at_once(self, topic: str) -> bool:
        """Return whether a measurement is in the frames of its own step."""
        return topic in self._groups and topic not in self._late_groups

    def has_own_frame(self, topic: str) -> bool:
        """Return whether a measurement becomes a frame of its own."""
        return topic in self._late_frames

    def arrival_us(self) -> float:
        """Return the time of the next HIL_SENSOR that has a measurement that is late."""
        return min((arrival_us for late in self._late_groups.values()
                    for arrival_us in late.times_us), default=math.inf)

    def frame_arrival_us(self) -> float:
        """Return the time at which the next frame arrives, after the last HIL_SENSOR."""
        return min((arrival_us for late in self._late_frames.values()
                    for arrival_us in late.times_us if arrival_us > self._clock_us),
                   default=math.inf)

    def holds(self, time_us: float) -> bool:
        """Return whether the HIL_SENSOR of a time has measurements that are late."""
        return any(time_us in late.times_us for late in self._late_groups.values())

    def late_frames(self) -> bytes:
        """Return the late frames that arrive in the next step."""
        return b''.join(frame for late in self._late_frames.values()
                        for frame in late.arrived(self._clock_us))

    def drop_late_frames(self) -> None:
        """Forget them: they were sent."""
        for late in self._late_frames.values():
            late.take(self._clock_us)

    @property
    def sequence(self) -> int:
        """The number of the next frame."""
        return self._encoder.sequence

    @property
    def sender(self) -> tuple[int, int]:
        """The system and the component that send the frames."""
        return self._encoder.sender

    def after_step(self, time_us: int, inputs: Inputs, sequence: int) -> bytes:
        """Take in that the HIL_SENSOR of a time was sent; return the frames that come next.

        They are kept until it is clear that the next step was taken.

        :param inputs: what was measured in that step, by topic
        :param sequence: the number of the next frame
        """
        self.take_steps(time_us, sequence)
        self.keep(inputs)
        self._kept_us = time_us
        return self.late_frames()

    def take_steps(self, time_us: int, sequence: int) -> None:
        """Take in that frames were sent up to a time, with those that had arrived by then.

        :param sequence: the number of the next one
        """
        for late in self._late_frames.values():
            late.take(time_us - self._step_us)
        self._clock_us, self._encoder.sequence = time_us, sequence

    # What comes later.

    def keep_groups(self, time_us: int, inputs: Inputs) -> None:
        """Keep the measurements of a step that arrive in the HIL_SENSOR of a later one."""
        for topic, late in self._late_groups.items():
            if topic in inputs:
                late.put(time_us, inputs[topic])

    def keep(self, inputs: Inputs) -> None:
        """Make the frames of a step that arrive in a later one: the autopilot works meanwhile."""
        if self._kept_us == self._clock_us:
            return
        for name, _, frame_of in self._makers:
            if name in inputs:
                self._late_frames[name].put(inputs[name].time_us, frame_of(inputs[name]))
        for name, messages_of in self._own_makers.items():
            if name in inputs:
                self._late_frames[name].put(self._clock_us, b''.join(map(
                    self._encoder.frame,
                    messages_of(inputs[name], inputs.get('ground_truth/odom')))))

    def make_truth(self) -> None:
        """Make the frame of `truth`, if there is one; it arrives in the next step."""
        truth, self.truth = self.truth, None
        if truth is None:
            return
        east, north, up = truth.position_enu
        latitude, longitude, half = place_in(self.local_frame.square_at(east, north), east, north)
        truth = truth._replace(attitude=multiply(about_up(half), truth.attitude))
        origin, geoid_height_m = self.altitudes_m
        self._late_frames['truth'].put(truth.time_us, self._encoder.truth(
            truth, GeodeticPosition(latitude, longitude, origin + up), geoid_height_m))

    def _with_late_groups(self, time_us: int, inputs: Inputs) -> dict[str, typing.Any]:
        """Return inputs with what arrives now in the place of what was measured now."""
        self.keep_groups(time_us, inputs)
        arrived = dict(inputs)
        for topic, late in self._late_groups.items():
            arrived.pop(topic, None)
            if found := late.take(time_us):
                arrived[topic] = found[-1]
        return arrived


def _frame(
    encoder: HilEncoder, message_of: typing.Callable[[typing.Any], mavlink.MAVLink_message],
    measurement: typing.Any,
) -> bytes:
    return encoder.frame(message_of(measurement))


def _maker_of(
    row: OwnBlockRow, number: int, vehicle: Vehicle,
) -> typing.Callable[[bytes, typing.Any], list[typing.Any]]:
    """Return a function that makes messages of a block's measurement and the truth.

    :param number: of a range finder
    """
    if row.type == MOTION:
        return lambda data, truth: [odometry_message(read_odometry(data))]
    mounting = Mounting.of_block(row, vehicle)
    if row.type == SCAN:
        return lambda data, truth: sector_messages(data, yaw_rad(mounting.at(truth)))
    return lambda data, truth: range_messages(data, mounting, truth, number)
