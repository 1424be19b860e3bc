"""The table of nodes and topics: the only list of them.

Launch files, the command line, the manager and the nodes read it. It imports no ROS:
classes are named as `module:Class` and message types as ROS writes them.
"""
from __future__ import annotations

import dataclasses
import importlib
import typing

# What `NodeSpec.inputs` and `Topic.period` say when something happens in every step.
EVERY_STEP = 'step'


@dataclasses.dataclass(frozen=True)
class Topic:
    """A topic of the step: who publishes it and how often."""

    name: str
    type: str
    publisher: str
    period: str = EVERY_STEP   # or a name in the parameter periods_us

    def period_us(self, step_us: int, periods_us: typing.Mapping[str, int]) -> int:
        """Return the period in microseconds."""
        return step_us if self.period == EVERY_STEP else periods_us[self.period]


@dataclasses.dataclass(frozen=True)
class NodeSpec:
    """A node: its class, its parameters and the topics it waits for in a step."""

    name: str
    node: str
    parameters: str
    inputs: tuple[str, ...] = ()
    model: str = ''            # the core model that a sensor node runs

    @property
    def outputs(self) -> tuple[Topic, ...]:
        """The topics that this node publishes in a step."""
        return tuple(t for t in TOPICS.values() if t.publisher == self.name)


TOPICS: dict[str, Topic] = {topic.name: topic for topic in (
    Topic('/clock', 'rosgraph_msgs/msg/Clock', 'manager'),
    Topic('ground_truth/odom', 'nav_msgs/msg/Odometry', 'dynamics'),
    Topic('ground_truth/accel', 'geometry_msgs/msg/AccelStamped', 'dynamics'),
    Topic('ground_truth/pose', 'geometry_msgs/msg/PoseStamped', 'dynamics', 'display'),
    Topic('joint_states', 'sensor_msgs/msg/JointState', 'dynamics', 'display'),
    Topic('imu/data_raw', 'sensor_msgs/msg/Imu', 'imu', 'imu'),
    Topic('mag', 'sensor_msgs/msg/MagneticField', 'magnetometer', 'magnetometer'),
    Topic('baro', 'sensor_msgs/msg/FluidPressure', 'barometer', 'barometer'),
    Topic('gps/fix', 'sensor_msgs/msg/NavSatFix', 'gps', 'gps'),
    Topic('gps/vel', 'geometry_msgs/msg/TwistStamped', 'gps', 'gps'),
    Topic('actuators/command', 'sensor_msgs/msg/JointState', 'hil_bridge'),
)}

_SENSOR_NODE = 'px4_sim_ros.nodes.sensor:SensorNode'
_SENSORS = 'px4_sim_ros.core.sensors'

# In the order of a step: whoever comes later waits for those before.
NODES: dict[str, NodeSpec] = {spec.name: spec for spec in (
    NodeSpec('manager', 'px4_sim_ros.nodes.manager:ManagerNode',
             'px4_sim_ros.pacing:PacingParameters', ('actuators/command',)),
    NodeSpec('dynamics', 'px4_sim_ros.nodes.dynamics:DynamicsNode',
             'px4_sim_ros.core.dynamics:DynamicsParameters', ('/clock', 'actuators/command')),
    NodeSpec('imu', _SENSOR_NODE, f'{_SENSORS}.imu:ImuParameters',
             ('ground_truth/odom', 'ground_truth/accel'), f'{_SENSORS}.imu:Imu'),
    NodeSpec('magnetometer', _SENSOR_NODE, f'{_SENSORS}.magnetometer:MagnetometerParameters',
             ('ground_truth/odom',), f'{_SENSORS}.magnetometer:Magnetometer'),
    NodeSpec('barometer', _SENSOR_NODE, f'{_SENSORS}.barometer:BarometerParameters',
             ('ground_truth/odom',), f'{_SENSORS}.barometer:Barometer'),
    NodeSpec('gps', _SENSOR_NODE, f'{_SENSORS}.gnss:GnssParameters',
             ('ground_truth/odom',), f'{_SENSORS}.gnss:Gnss'),
    NodeSpec('hil_bridge', 'px4_sim_ros.nodes.hil_bridge:HilBridgeNode',
             'px4_sim_ros.mavlink.lockstep:HilParameters',
             ('imu/data_raw', 'mag', 'baro', 'gps/fix', 'gps/vel')),
)}

MANAGED = tuple(name for name in NODES if name != 'manager')
SENSORS = tuple(name for name, spec in NODES.items() if spec.model)


def process_groups(mode: str) -> list[list[str]]:
    """Return which nodes share a process in the modes `composed` and `separate`."""
    return [list(NODES)] if mode == 'composed' else [[name] for name in NODES]


def load(path: str) -> typing.Any:
    """Import what `module:Name` names."""
    module, name = path.split(':')
    return getattr(importlib.import_module(module), name)


def subscribers(topic: str) -> tuple[str, ...]:
    """Return the nodes that wait for a topic."""
    return tuple(spec.name for spec in NODES.values() if topic in spec.inputs)
