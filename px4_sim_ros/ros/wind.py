"""The node `wind`: how the air moves at the vehicle."""
from __future__ import annotations

import typing

from px4_sim_ros.model.environment.wind import wind_at
from px4_sim_ros.ros.sensor import SensorNode


class WindNode(SensorNode):
    """Blows as its model says, with the place and speed of the vehicle of the step before.

    As a sensor it can be stopped and started in flight: the last wind goes on meanwhile.
    """

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Publish the wind that holds from `time_us` on."""
        self.publish(wind_at(self._sensor, time_us, inputs.get('ground_truth/odom')))
