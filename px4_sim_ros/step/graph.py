"""The table of nodes and topics: the only list of them.

Launch files, the command line, the manager and the nodes read it. It imports no ROS:
classes are named as `module:Class` and message types as ROS writes them.
"""
from __future__ import annotations

import dataclasses
import functools
import importlib
import typing

from px4_sim_ros.model.timebase import instance_name, kind_and_index

# Where a sensor that is stopped says so, for each time at which it would have measured.
ABSENCE = 'sensors/absence'

# What ends a step.
COMMAND = 'actuators/command'

# What `Topic.period` says when something happens in every step.
EVERY_STEP = 'step'


@dataclasses.dataclass(frozen=True)
class Topic:
    """A topic of the step: who publishes it and how often."""

    name: str
    type: str
    publisher: str
    period: str = EVERY_STEP   # or a name in the parameter periods_us
    like: str = ''             # the topic of the first instance, if this is of a further one
    meaning: str = ''          # what is in it, beyond what its type says
    instead: str = ''          # who publishes it in a graph that has such a node

    def period_us(self, step_us: int, periods_us: typing.Mapping[str, int]) -> int:
        """Return the period in microseconds."""
        return step_us if self.period == EVERY_STEP else periods_us[self.period]

    @property
    def kind(self) -> str:
        """The name of this topic of the first instance, which says what is in it."""
        return self.like or self.name

    def of_instance(self, index: int) -> Topic:
        """Return the topic of a further instance: `imu/data_raw` becomes `imu_1/data_raw`."""
        first, slash, rest = self.name.partition('/')
        return dataclasses.replace(
            self, name=f'{instance_name(first, index)}{slash}{rest}',
            publisher=instance_name(self.publisher, index), like=self.name)


@dataclasses.dataclass(frozen=True)
class NodeSpec:
    """A node: its class, its parameters and the topics it waits for in a step."""

    name: str
    node: str
    parameters: str
    inputs: tuple[str, ...] = ()
    model: str = ''            # the core model that a sensor node runs
    instances: int = 1         # how many of it there may be
    previous: tuple[str, ...] = ()     # those of `inputs` that are of the step before
    optional: bool = False     # there is none unless the configuration asks for it

    @property
    def kind(self) -> str:
        """The name of the first instance."""
        return kind_and_index(self.name)[0]

    @property
    def index(self) -> int:
        """The number among those of its kind; PX4's id of the sensor."""
        return kind_and_index(self.name)[1]


# Those of the first instances, with all that is optional. What is in them is a contract with a
# version (`recording/schema.py`).
TOPICS: dict[str, Topic] = {topic.name: topic for topic in (
    Topic('/clock', 'rosgraph_msgs/msg/Clock', 'manager',
          meaning='the end of the step that begins'),
    Topic('ground_truth/odom', 'nav_msgs/msg/Odometry', 'dynamics',
          meaning='true pose in map (ENU from home) and twist in base_link (FLU)'),
    Topic('ground_truth/accel', 'geometry_msgs/msg/AccelStamped', 'dynamics',
          meaning='true acceleration, without gravity, and angular acceleration in base_link'),
    Topic('ground_truth/pose', 'geometry_msgs/msg/PoseStamped', 'dynamics', 'display',
          meaning='the pose of ground_truth/odom, for viewers'),
    Topic('joint_states', 'sensor_msgs/msg/JointState', 'dynamics', 'display',
          meaning='rotor speeds in rad/s as velocity, rotor_1 first'),
    Topic('battery_state', 'sensor_msgs/msg/BatteryState', 'dynamics', 'battery',
          meaning='of the bus; the current is negative while discharging; present is false'
          ' without a battery'),
    Topic('wind', 'geometry_msgs/msg/TwistStamped', 'wind', 'wind',
          meaning='velocity of the air in map: where it blows to'),
    Topic('imu/data_raw', 'sensor_msgs/msg/Imu', 'imu', 'imu',
          meaning='specific force and rate in imu_link; no orientation (REP-145)'),
    Topic('mag', 'sensor_msgs/msg/MagneticField', 'magnetometer', 'magnetometer',
          meaning='field in T in mag_link'),
    Topic('baro', 'sensor_msgs/msg/FluidPressure', 'barometer', 'barometer',
          meaning='static pressure in Pa'),
    Topic('gps/fix', 'sensor_msgs/msg/NavSatFix', 'gps', 'gps',
          meaning='position over the WGS-84 ellipsoid, with the accuracy that is reported'),
    Topic('gps/vel', 'geometry_msgs/msg/TwistStamped', 'gps', 'gps',
          meaning='velocity in ENU'),
    Topic('airspeed', 'sensor_msgs/msg/FluidPressure', 'airspeed', 'airspeed',
          meaning='total minus static pressure in Pa'),
    Topic('range', 'sensor_msgs/msg/Range', 'range_finder', 'range_finder',
          meaning='distance in m along the beam; infinite beyond the limits (REP-117)'),
    Topic('optical_flow', 'geometry_msgs/msg/Vector3Stamped', 'optical_flow', 'optical_flow',
          meaning='flow about body x and y in rad/s, or no number'),
    Topic('visual_odometry', 'nav_msgs/msg/Odometry', 'visual_odometry', 'visual_odometry',
          meaning='pose in map and velocity in base_link, as a camera would estimate them'),
    Topic(COMMAND, 'sensor_msgs/msg/JointState', 'hil_bridge', instead='player',
          meaning='references of the rotor speeds in rad/s, for the step that follows'),
)}

_SENSOR_NODE = 'px4_sim_ros.ros.sensor:SensorNode'
_SENSORS = 'px4_sim_ros.model.sensors'
_WIND = 'px4_sim_ros.model.environment.wind'
# What an autopilot is told.
_MEASURED = ('imu/data_raw', 'mag', 'baro', 'gps/fix', 'gps/vel', 'airspeed', 'range',
             'optical_flow', 'visual_odometry', 'battery_state')

# In the order of a step: whoever comes later waits for those before.
NODES: dict[str, NodeSpec] = {spec.name: spec for spec in (
    NodeSpec('manager', 'px4_sim_ros.ros.manager:ManagerNode',
             'px4_sim_ros.config.run_control:ManagerParameters', (COMMAND,)),
    NodeSpec('wind', 'px4_sim_ros.ros.wind:WindNode', f'{_WIND}:WindParameters',
             ('/clock', 'ground_truth/odom'), f'{_WIND}:Wind',
             previous=('ground_truth/odom',), optional=True),
    NodeSpec('dynamics', 'px4_sim_ros.ros.dynamics:DynamicsNode',
             'px4_sim_ros.model.body.integrators:DynamicsParameters',
             ('/clock', 'wind', COMMAND), previous=(COMMAND,)),
    NodeSpec('imu', _SENSOR_NODE, f'{_SENSORS}.imu:ImuParameters',
             ('ground_truth/odom', 'ground_truth/accel'), f'{_SENSORS}.imu:Imu', instances=3),
    NodeSpec('magnetometer', _SENSOR_NODE, f'{_SENSORS}.magnetometer:MagnetometerParameters',
             ('ground_truth/odom', 'battery_state'), f'{_SENSORS}.magnetometer:Magnetometer',
             instances=2),
    NodeSpec('barometer', _SENSOR_NODE, f'{_SENSORS}.barometer:BarometerParameters',
             ('ground_truth/odom', 'wind'), f'{_SENSORS}.barometer:Barometer'),
    NodeSpec('gps', _SENSOR_NODE, f'{_SENSORS}.gnss:GnssParameters',
             ('ground_truth/odom',), f'{_SENSORS}.gnss:Gnss', instances=2),
    NodeSpec('airspeed', _SENSOR_NODE, f'{_SENSORS}.airspeed:AirspeedParameters',
             ('ground_truth/odom', 'wind'), f'{_SENSORS}.airspeed:Airspeed', optional=True),
    NodeSpec('range_finder', _SENSOR_NODE, f'{_SENSORS}.range_finder:RangeFinderParameters',
             ('ground_truth/odom',), f'{_SENSORS}.range_finder:RangeFinder', optional=True),
    NodeSpec('optical_flow', _SENSOR_NODE, f'{_SENSORS}.optical_flow:OpticalFlowParameters',
             ('ground_truth/odom',), f'{_SENSORS}.optical_flow:OpticalFlow', optional=True),
    NodeSpec('visual_odometry', _SENSOR_NODE,
             f'{_SENSORS}.visual_odometry:VisualOdometryParameters',
             ('ground_truth/odom',), f'{_SENSORS}.visual_odometry:VisualOdometry',
             optional=True),
    NodeSpec('hil_bridge', 'px4_sim_ros.ros.hil_bridge:HilBridgeNode',
             'px4_sim_ros.mavlink.lockstep:HilParameters',
             _MEASURED),
    NodeSpec('player', 'px4_sim_ros.ros.player:PlayerNode',
             'px4_sim_ros.config.recording:PlayerParameters', _MEASURED, optional=True),
    NodeSpec('recorder', 'px4_sim_ros.ros.recorder:RecorderNode',
             'px4_sim_ros.config.recording:RecorderParameters', tuple(TOPICS),
             optional=True),
)}


class Graph:
    """The nodes and topics of a run, with as many instances of each sensor as wanted."""

    def __init__(self, instances: typing.Mapping[str, int]) -> None:
        counts = {kind: instances.get(kind, 0 if spec.optional else 1)
                  for kind, spec in NODES.items()}
        self.topics: dict[str, Topic] = {}
        copies: dict[str, list[str]] = {}       # of the topics of the first instances
        for name, topic in TOPICS.items():
            if counts.get(topic.instead):
                topic = dataclasses.replace(topic, publisher=topic.instead)
            topics = [topic.of_instance(i) if i else topic
                      for i in range(counts[topic.publisher])]
            copies[name] = [t.name for t in topics]
            self.topics |= {t.name: t for t in topics}
        self.nodes: dict[str, NodeSpec] = {}
        for kind, spec in NODES.items():
            inputs = tuple(copy for name in spec.inputs for copy in copies[name])
            for index in range(counts[kind]):
                name = instance_name(kind, index)
                self.nodes[name] = dataclasses.replace(spec, name=name, inputs=inputs)
        self.instances = {
            kind: tuple(instance_name(kind, i) for i in range(count))
            for kind, count in counts.items()}
        self.managed = tuple(name for name in self.nodes if name != 'manager')
        self.sensors = tuple(name for name, spec in self.nodes.items() if spec.model)

    def outputs(self, node: str) -> tuple[Topic, ...]:
        """Return the topics that a node publishes in a step."""
        return tuple(t for t in self.topics.values() if t.publisher == node)

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Return the nodes that wait for a topic."""
        return tuple(spec.name for spec in self.nodes.values() if topic in spec.inputs)

    def process_groups(self, mode: str) -> list[list[str]]:
        """Return which nodes share a process in the modes `composed` and `separate`."""
        return [list(self.nodes)] if mode == 'composed' else [[name] for name in self.nodes]


@functools.cache
def _graph(instances: tuple[tuple[str, int], ...]) -> Graph:
    return Graph(dict(instances))


def of_instances(instances: typing.Mapping[str, int]) -> Graph:
    """Return the graph with as many of each sensor as wanted, the others as by default."""
    return _graph(tuple(sorted(instances.items())))


def spec_of(node: str) -> NodeSpec:
    """Return the row of a node's kind, under the node's own name.

    :raises KeyError: no graph has such a node
    """
    kind, index = kind_and_index(node)
    if index >= NODES[kind].instances:
        raise KeyError(node)
    return dataclasses.replace(NODES[kind], name=node)


def load(path: str) -> typing.Any:
    """Import what `module:Name` names."""
    module, name = path.split(':')
    return getattr(importlib.import_module(module), name)
