# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The frames of the next step, made as soon as the autopilot has answered this one.

The autopilot waits for them, so what is between its answer and them decides how fast a flight is.
Between two steps much is done that they do not need: this one is completed, blocks hand over their
values, messages are prepared. So what is in the frames is measured first, and sent; then the step
is taken as ever, while the autopilot works. Its sensors have to read the same.

`NextSample` has the motion and the sample of a plain IMU; other sensors measure as they would in
their step, and keep that for it.
"""
from __future__ import annotations

import typing

from px4_sim_ros.link.hil.codec import ActuatorControls
from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.model.body.next_sample import NextSample
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.truth import STILL
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.step.block import Block, Inputs
from px4_sim_ros.step.dynamics_block import DynamicsBlock, published
from px4_sim_ros.step.model_blocks import SensorBlock

_HELD = 'wind', 'battery_state'


class EarlyFrames:
    """Makes the frames of a step from the reply to the one before."""

    def __init__(self, frames: HilFrames, vehicle: Vehicle, step_us: int) -> None:
        self._frames, self._references, self._step_us = frames, vehicle.references, step_us
        self._models: tuple[typing.Any, ...] = ()
        self._sample: NextSample | None = None       # of these models
        self._sensors: list[SensorBlock] = []        # that measure as well then, for the frames
        self._time_us = 0
        self._held: dict[str, typing.Any] = {}       # what they are given beside the truth

    def prepare(
        self, time_us: int, blocks: typing.Sequence[Block | None], values: Inputs,
    ) -> bool:
        """Prepare for the next step; return whether its frames can be made early.

        :param blocks: that act before the bridge then, in their order
        :param values: the last ones, by topic
        """
        sample = self._sample_of(blocks[:2])
        # A class of the user's may do anything else.
        if sample is None or any(type(block) is not SensorBlock for block in blocks[1:]):
            return False
        self._sensors = [
            block for block in typing.cast('typing.Sequence[SensorBlock]', blocks[2:])
            if self._frames.is_at_once(block.output)]
        self._time_us = time_us
        self._held = {topic: values[topic] for topic in _HELD if topic in values}
        wind = values.get('wind')
        return self._frames.can_be_early(time_us) and sample.prepare(
            time_us, STILL.wind_enu if wind is None else wind.velocity_enu)

    def _sample_of(self, blocks: typing.Sequence[Block | None]) -> NextSample | None:
        """Return the maker of the sample of these blocks, None if it is not made early."""
        if list(map(type, blocks)) != [DynamicsBlock, SensorBlock]:
            return None
        dynamics, imu = typing.cast('tuple[DynamicsBlock, SensorBlock]', blocks)
        self._dynamics = dynamics
        models = dynamics.dynamics, imu.model        # of this run
        if models != self._models:
            self._models = models
            self._sample = NextSample.of(*models) if (
                dynamics.is_plain and type(imu.model) is Imu) else None
        return self._sample

    def after(self, reply: ActuatorControls) -> bytes:
        """Return the frames that follow a reply; none: they are made when their step has come."""
        assert self._sample is not None, 'prepare has said that they can be made'
        imu = self._sample.after(self._dynamics.references_after(
            self._references(reply.controls, reply.armed), self._time_us - self._step_us))
        if imu is None:
            return b''
        measured = {self._frames.first_imu: imu}
        if self._sensors:
            measured |= self._measured(self._sample)
        return self._frames.early(self._time_us, measured)

    def _measured(self, sample: NextSample) -> dict[str, typing.Any]:
        """Return the measurements of the other sensors."""
        inputs = self._held | {'ground_truth/odom': sample.truth()}
        if is_due(self._time_us, self._dynamics.battery_period_us):
            inputs['battery_state'] = published(sample.battery())
        measured: dict[str, typing.Any] = {}
        for sensor in self._sensors:
            measured |= sensor.step_ahead(self._time_us, inputs)
        return measured
