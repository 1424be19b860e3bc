# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of blocks and topics: the only list of them.

The runner, the nodes, launch files and the command line read it. It imports none of them:
classes are named as `module:Class` and message types as ROS writes them.
"""
from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import os
import pathlib
import sys
import typing

from px4_sim_ros.model.errors import ParameterError, shown, why_not_imported
from px4_sim_ros.model.own_blocks import (
    MOST_DISTANCES,
    OF_THE_PACKAGE,
    RANGE,
    SCAN,
    SECTORS,
    OwnBlockRow,
)
from px4_sim_ros.model.timebase import instance_name, kind_and_index

if typing.TYPE_CHECKING:       # a table needs neither
    from px4_sim_ros.model.world import WorldParameters

# Where a sensor that is stopped says so, for each time at which it would have measured.
ABSENCE = 'sensors/absence'

# What a scenario does to the blocks, and what the autopilot has said of itself.
FAULTS, AUTOPILOT_STATE = 'scenario/faults', 'autopilot/state'

# What rotors do to the air: those of a vehicle, and those of the others a period before.
WAKE, WAKES = 'wake', 'wakes'

# Where a vehicle is for others that may collide with it, and what they do to it.
HULL, COLLISION = 'hull', 'collision'

# What speaks with the autopilot, and with PX4's own client of ROS 2.
BRIDGE, TOPICS_OF_PX4 = 'hil_bridge', 'px4_topics'

# What begins a step, and what ends it.
CLOCK = '/clock'
COMMAND = 'actuators/command'

JOINTS = 'joint_states'

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
    part_of: str = ''          # the topic whose value it carries a part of
    wanted_by: str = ''        # the node, or the feature, without which there is no such topic
    own_us: int = 0            # the period of one that a block of the user's has added

    def period_us(self, step_us: int, periods_us: typing.Mapping[str, int]) -> int:
        """Return the period in microseconds."""
        if self.own_us:
            return self.own_us
        return step_us if self.period == EVERY_STEP else periods_us[self.period]

    @property
    def kind(self) -> str:
        """The name of this topic of the first instance, which says what is in it."""
        return self.like or self.name

    def of_instance(self, index: int) -> Topic:
        """Return the topic of a further instance: `imu/data_raw` becomes `imu_1/data_raw`."""
        return dataclasses.replace(
            self, name=_of_instance(self.name, index),
            publisher=instance_name(self.publisher, index), like=self.name,
            part_of=_of_instance(self.part_of, index) if self.part_of else '')

    @property
    def value(self) -> str:
        """The topic that a block knows the value by: this one, or the one it is a part of."""
        return self.part_of or self.name


def _of_instance(topic: str, index: int) -> str:
    first, slash, rest = topic.partition('/')
    return f'{instance_name(first, index)}{slash}{rest}'


def qualified(vehicle: str, name: str) -> str:
    """Return the name of a node or topic of a vehicle; an absolute one is of the world."""
    return f'{vehicle}/{name}' if vehicle and not name.startswith('/') else name


@dataclasses.dataclass(frozen=True)
class NodeSpec:
    """A block with its parameters and inputs, and the node that is its face in ROS."""

    name: str
    block: str                 # '' for those that take no part in the mathematics of a step
    parameters: str
    inputs: tuple[str, ...] = ()
    model: str = ''            # that a sensor's block runs
    instances: int = 1         # how many of it there may be
    previous: tuple[str, ...] = ()     # those of `inputs` that are of the step before
    held: tuple[str, ...] = ()         # those whose last value holds until the next is due
    optional: bool = False     # there is none unless the configuration asks for it
    beside: str = ''           # the node whose process it shares in all modes
    node: str = 'px4_sim_ros.ros.framework.block_node:BlockNode'

    @property
    def kind(self) -> str:
        """The name of the first instance."""
        return kind_and_index(self.name)[0]

    @property
    def index(self) -> int:
        """The number among those of its kind; PX4's id of the sensor."""
        return kind_and_index(self.name)[1]


# Those of the first instances, with all that is optional. What is in them is a contract with a
# version (`recording/bag/schema.py`).
TOPICS: dict[str, Topic] = {topic.name: topic for topic in (
    Topic(CLOCK, 'rosgraph_msgs/msg/Clock', 'manager',
          meaning='the end of the step that begins'),
    Topic('ground_truth/odom', 'nav_msgs/msg/Odometry', 'dynamics',
          meaning='true pose in map (ENU from home) and twist in base_link (FLU)'),
    Topic('ground_truth/accel', 'geometry_msgs/msg/AccelStamped', 'dynamics',
          meaning='true acceleration, without gravity, and angular acceleration in base_link',
          part_of='ground_truth/odom'),
    Topic('ground_truth/pose', 'geometry_msgs/msg/PoseStamped', 'dynamics', 'display',
          meaning='the pose of ground_truth/odom, for viewers', part_of='ground_truth/odom'),
    Topic(JOINTS, 'sensor_msgs/msg/JointState', 'dynamics', 'display',
          meaning='rotor speeds in rad/s as velocity, the angles that they have turned by within'
          ' -pi to pi as position, rotor_1 first; angles of servos; what wheels have rolled by, how'
          ' fast, and how far left they are steered',
          part_of='ground_truth/odom'),
    Topic('battery_state', 'sensor_msgs/msg/BatteryState', 'dynamics', 'battery',
          meaning='of the bus; the current is negative while discharging; present is false'
          ' without a battery'),
    Topic('wind', 'geometry_msgs/msg/TwistStamped', 'wind', 'wind',
          meaning='velocity of the air in map: where it blows to'),
    Topic(WAKE, 'rcl_interfaces/msg/Log', 'dynamics', 'wind', wanted_by='downwash',
          meaning='the jet below the rotors: place, direction, speed and size, as JSON in msg'),
    Topic(WAKES, 'rcl_interfaces/msg/Log', 'manager', 'wind', wanted_by='downwash',
          instead='wake_player', meaning='the wakes of all others a period before, as JSON in msg'),
    Topic(HULL, 'rcl_interfaces/msg/Log', 'dynamics', wanted_by='collisions',
          meaning='the sphere that collides: motion, mass, inverse inertia, radius, stiffness and'
          ' friction, as JSON in msg'),
    Topic(COLLISION, 'rcl_interfaces/msg/Log', 'manager', wanted_by='collisions',
          instead='wake_player', meaning='force (N) and torque (N m) on the vehicle in this step'
          ' by those it collides with, in map, as JSON in msg'),
    Topic('imu/data_raw', 'sensor_msgs/msg/Imu', 'imu', 'imu',
          meaning='specific force and rate in imu_link; no orientation (REP-145)'),
    Topic('mag', 'sensor_msgs/msg/MagneticField', 'magnetometer', 'magnetometer',
          meaning='field in T in mag_link'),
    Topic('baro', 'sensor_msgs/msg/FluidPressure', 'barometer', 'barometer',
          meaning='static pressure in Pa'),
    Topic('gps/fix', 'sensor_msgs/msg/NavSatFix', 'gps', 'gps',
          meaning='position over the WGS-84 ellipsoid, with the accuracy that is reported; of the'
          ' service GPS'),
    Topic('gps/vel', 'geometry_msgs/msg/TwistStamped', 'gps', 'gps',
          meaning='velocity in ENU at the place of the fix', part_of='gps/fix'),
    Topic('gps/sky', 'geometry_msgs/msg/Vector3Stamped', 'gps', 'gps', wanted_by='gnss_sky',
          meaning='x: how many satellites are used, y: HDOP, z: VDOP; 99.99 without a position',
          part_of='gps/fix'),
    Topic('airspeed', 'sensor_msgs/msg/FluidPressure', 'airspeed', 'airspeed',
          meaning='total minus static pressure in Pa'),
    Topic('range', 'sensor_msgs/msg/Range', 'range_finder', 'range_finder',
          meaning='distance in m along the beam; infinite beyond the limits (REP-117)'),
    Topic('optical_flow', 'geometry_msgs/msg/Vector3Stamped', 'optical_flow', 'optical_flow',
          meaning='flow about body x and y in rad/s, or no number'),
    Topic('visual_odometry', 'nav_msgs/msg/Odometry', 'visual_odometry', 'visual_odometry',
          meaning='pose in odom, which drifts from map, and velocity in base_link, as a camera'
          ' would estimate them'),
    Topic(FAULTS, 'rcl_interfaces/msg/Log', 'scenario', instead='scenario_player',
          meaning='which actions of the scenario are in force, as JSON in msg'),
    Topic(AUTOPILOT_STATE, 'rcl_interfaces/msg/Log', 'pilot', wanted_by='scenario',
          meaning='mode, armed, landed, failsafe, estimate of the place and texts as the pilot has'
          ' heard them, and how far the mission is, as JSON in msg'),
    Topic(COMMAND, 'sensor_msgs/msg/JointState', 'hil_bridge', instead='player',
          meaning='references of the rotor speeds in rad/s, for the step that follows'),
)}

_BLOCKS = 'px4_sim_ros.step.model_blocks'
_SENSOR = f'{_BLOCKS}:SensorBlock'
_SENSORS = 'px4_sim_ros.model.sensors'
_WIND = 'px4_sim_ros.model.environment.wind'
# What an autopilot gets.
_MEASURED = ('imu/data_raw', 'mag', 'baro', 'gps/fix', 'gps/vel', 'gps/sky', 'airspeed',
             'range', 'optical_flow', 'visual_odometry', 'battery_state')

# In the order of a step: each uses what those before it put out.
NODES: dict[str, NodeSpec] = {spec.name: spec for spec in (
    NodeSpec('manager', '', 'px4_sim_ros.spec.run_parameters:ManagerParameters',
             (COMMAND, WAKE, HULL), node='px4_sim_ros.ros.manager.manager:ManagerNode'),
    NodeSpec('wake_player', 'px4_sim_ros.recording.playback:WakePlaybackBlock',
             'px4_sim_ros.spec.run_parameters:PlayerParameters', (CLOCK,), optional=True),
    NodeSpec('wind', f'{_BLOCKS}:WindBlock', f'{_WIND}:WindParameters',
             (CLOCK, 'ground_truth/odom', FAULTS, WAKES), f'{_WIND}:Wind',
             previous=('ground_truth/odom', FAULTS), optional=True),
    NodeSpec('dynamics', 'px4_sim_ros.step.dynamics_block:DynamicsBlock',
             'px4_sim_ros.model.body.integrators:DynamicsParameters',
             (CLOCK, 'wind', FAULTS, COMMAND, COLLISION), previous=(FAULTS, COMMAND),
             held=('wind',),
             node='px4_sim_ros.ros.nodes.dynamics:DynamicsNode'),
    NodeSpec('scenario', 'px4_sim_ros.step.scenario_block:ScenarioBlock',
             'px4_sim_ros.step.scenario_block:ScenarioParameters',
             (CLOCK, 'ground_truth/odom', 'battery_state', AUTOPILOT_STATE, COLLISION),
             previous=(AUTOPILOT_STATE,), held=('battery_state',), optional=True,
             beside='hil_bridge', node='px4_sim_ros.ros.nodes.scenario:ScenarioNode'),
    # After dynamics as the scenario: what dynamics uses a step later may not come in this one.
    NodeSpec('scenario_player', 'px4_sim_ros.recording.playback:FaultPlaybackBlock',
             'px4_sim_ros.spec.run_parameters:PlayerParameters', (CLOCK, 'ground_truth/odom'),
             optional=True),
    NodeSpec('imu', _SENSOR, f'{_SENSORS}.imu:ImuParameters',
             ('ground_truth/odom', 'ground_truth/accel', FAULTS), f'{_SENSORS}.imu:Imu',
             instances=3),
    NodeSpec('magnetometer', _SENSOR, f'{_SENSORS}.magnetometer:MagnetometerParameters',
             ('ground_truth/odom', 'battery_state', FAULTS),
             f'{_SENSORS}.magnetometer:Magnetometer', instances=2, held=('battery_state',)),
    NodeSpec('barometer', _SENSOR, f'{_SENSORS}.barometer:BarometerParameters',
             ('ground_truth/odom', 'wind', FAULTS), f'{_SENSORS}.barometer:Barometer',
             held=('wind',)),
    NodeSpec('gps', _SENSOR, f'{_SENSORS}.gnss:GnssParameters',
             ('ground_truth/odom', FAULTS), f'{_SENSORS}.gnss:Gnss', instances=2),
    NodeSpec('airspeed', _SENSOR, f'{_SENSORS}.airspeed:AirspeedParameters',
             ('ground_truth/odom', 'wind', FAULTS), f'{_SENSORS}.airspeed:Airspeed',
             held=('wind',), optional=True),
    NodeSpec('range_finder', _SENSOR, f'{_SENSORS}.range_finder:RangeFinderParameters',
             ('ground_truth/odom', FAULTS), f'{_SENSORS}.range_finder:RangeFinder',
             optional=True),
    NodeSpec('optical_flow', _SENSOR, f'{_SENSORS}.optical_flow:OpticalFlowParameters',
             ('ground_truth/odom', FAULTS), f'{_SENSORS}.optical_flow:OpticalFlow',
             optional=True),
    NodeSpec('visual_odometry', _SENSOR, f'{_SENSORS}.visual_odometry:VisualOdometryParameters',
             ('ground_truth/odom', FAULTS), f'{_SENSORS}.visual_odometry:VisualOdometry',
             optional=True),
    # All that reaches the autopilot comes from one process, in one order.
    NodeSpec('pilot', 'px4_sim_ros.link.pilot.block:PilotBlock',
             'px4_sim_ros.link.pilot.block:PilotParameters',
             (CLOCK, 'ground_truth/odom', FAULTS), optional=True,
             beside='hil_bridge', node='px4_sim_ros.ros.nodes.pilot:PilotNode'),
    NodeSpec(TOPICS_OF_PX4, 'px4_sim_ros.link.xrce.block:Px4TopicsBlock',
             'px4_sim_ros.link.xrce.block:TopicsParameters', (CLOCK,), optional=True,
             beside='hil_bridge', node='px4_sim_ros.ros.nodes.px4_topics:Px4TopicsNode'),
    NodeSpec('hil_bridge', 'px4_sim_ros.link.hil.block:HilBlock',
             'px4_sim_ros.link.hil.link_state:HilParameters',
             ('ground_truth/odom', 'ground_truth/accel', *_MEASURED, FAULTS),
             node='px4_sim_ros.ros.nodes.hil_bridge:HilBridgeNode'),
    NodeSpec('player', 'px4_sim_ros.recording.playback:PlaybackBlock',
             'px4_sim_ros.spec.run_parameters:PlayerParameters', _MEASURED, optional=True,
             node='px4_sim_ros.ros.nodes.player:PlayerNode'),
    NodeSpec('recorder', '', 'px4_sim_ros.spec.run_parameters:RecorderParameters', tuple(TOPICS),
             optional=True, node='px4_sim_ros.ros.nodes.recorder:RecorderNode'),
)}


# A block of the user's: of one of a run its graph knows the rest.
_OWN = NodeSpec('', 'own', 'px4_sim_ros.model.parameters:Parameters', model='own', optional=True)
# It acts behind what measures, and before what speaks with the autopilot.
_OWN_BEFORE = 'pilot'
# What it may use, and what of that holds until the next is due.
_FOR_OWN = tuple(name for name, topic in TOPICS.items() if topic.publisher in {
    'wind', 'dynamics', 'scenario', *(kind for kind, spec in NODES.items() if spec.model)}
    and topic.name not in (WAKE, HULL, 'ground_truth/pose'))
_HELD = tuple({name for spec in NODES.values() for name in spec.held})


class Graph:
    """The nodes and topics of a run, with as many instances of each sensor as wanted."""

    def __init__(
        self, instances: typing.Mapping[str, int], own: typing.Iterable[OwnBlockRow] = (),
    ) -> None:
        counts = {kind: instances.get(kind, 0 if spec.optional else 1)
                  for kind, spec in NODES.items()}
        self.topics: dict[str, Topic] = {}
        copies: dict[str, list[str]] = {}       # of the topics of the first instances
        for name, topic in TOPICS.items():
            if counts.get(topic.instead):
                topic = dataclasses.replace(topic, publisher=topic.instead)
            is_wanted = not topic.wanted_by or {**instances, **counts}.get(topic.wanted_by)
            topics = [topic.of_instance(i) if i else topic
                      for i in range(counts[topic.publisher] if is_wanted else 0)]
            copies[name] = [t.name for t in topics]
            self.topics |= {t.name: t for t in topics}
        own_rows = {row.name: row for row in own}
        own_nodes = {}
        for name, row in own_rows.items():     # each may use what those before it put out
            own_nodes[name] = _own_node(row, self.topics)
            self.topics[row.topic] = Topic(row.topic, row.type, name, own_us=row.period_us)
        added = tuple(row.topic for row in own_rows.values())
        self.nodes: dict[str, NodeSpec] = {}
        for kind, spec in NODES.items():
            if kind == _OWN_BEFORE:
                self.nodes |= own_nodes
            inputs = tuple(copy for name in spec.inputs for copy in copies[name])
            previous = tuple(name for name in spec.previous if copies[name])
            if kind == 'dynamics':     # the next step waits for them, and the fingerprint has them
                inputs, previous = inputs + added, previous + added
            elif kind == 'recorder':
                inputs += added
            elif kind == BRIDGE:
                heard = [row for row in own_rows.values() if row.is_for_autopilot]
                inputs += tuple(row.topic for row in heard)
                if any(JOINTS in row.inputs for row in heard):     # which way they look
                    inputs += JOINTS,
                _check_distances(counts['range_finder'], [row.type for row in heard])
            for index in range(counts[kind]):
                name = instance_name(kind, index)
                self.nodes[name] = dataclasses.replace(
                    spec, name=name, inputs=inputs, previous=previous)
        self.instances = {
            kind: tuple(instance_name(kind, i) for i in range(count))
            for kind, count in counts.items()} | {name: (name,) for name in own_rows}
        self.own = tuple(own_rows)
        self.own_topics = added
        self.managed = tuple(name for name in self.nodes if name != 'manager')
        self.sensors = tuple(name for name, spec in self.nodes.items() if spec.model)
        self.blocks = tuple(name for name, spec in self.nodes.items() if spec.block)

    def outputs(self, node: str) -> tuple[Topic, ...]:
        """Return the topics that a node publishes in a step."""
        return tuple(t for t in self.topics.values() if t.publisher == node)

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Return the nodes that wait for a topic."""
        return tuple(spec.name for spec in self.nodes.values() if topic in spec.inputs)

    def process_groups(self, mode: str) -> list[list[str]]:
        """Return which nodes share a process in the modes `composed` and `separate`."""
        if mode == 'composed':
            return [list(self.nodes)]
        return [[*(guest for guest, spec in self.nodes.items() if spec.beside == host), host]
                for host, spec in self.nodes.items() if spec.beside not in self.nodes]


def _check_distances(range_finders: int, heard: typing.Sequence[str]) -> None:
    count = range_finders + heard.count(RANGE) + SECTORS * (SCAN in heard)
    if count > MOST_DISTANCES:
        raise ParameterError(
            f'blocks: to_autopilot: {count} distances, one for each range finder and {SECTORS} for'
            f' scans: must be at most {MOST_DISTANCES}, as many as PX4 takes')


def _own_node(row: OwnBlockRow, topics: typing.Mapping[str, Topic]) -> NodeSpec:
    """Return the row of a block of the user's.

    :raises ParameterError: its name, its topic or an input does not fit the graph
    """
    problem = ''
    if row.name in NODES:
        problem = f'name = {shown(row.name)}: is that of a node of the graph; give it another'
    elif row.topic in topics or row.topic in TOPICS:
        problem = f'topic = {shown(row.topic)}: another block publishes it; give it another name'
    for name in row.inputs:
        known = [topic for topic, its in topics.items() if its.kind in _FOR_OWN or its.own_us]
        if name not in known:
            problem = (f'inputs = {shown(name)}: must be a topic of this graph that is there before'
                       f' the autopilot: {", ".join(known)}')
    if problem:
        raise ParameterError(f'block {row.name}: {problem}')
    inputs = row.inputs
    if FAULTS in topics and FAULTS not in inputs:
        inputs += FAULTS,
    return dataclasses.replace(
        _OWN, name=row.name, block=row.path, model=row.path, inputs=inputs,
        held=tuple(name for name in _HELD if name in row.inputs))


@functools.cache
def _graph(
    instances: tuple[tuple[str, int], ...], own: tuple[OwnBlockRow, ...],
) -> Graph:
    return Graph(dict(instances), own)


def of_instances(instances: typing.Mapping[str, int]) -> Graph:
    """Return the graph with as many of each sensor as wanted, the others as by default."""
    return _graph(tuple(sorted(instances.items())), ())


def of_world(world: WorldParameters, **counts: int) -> Graph:
    """Return the graph that the parameters of the world ask for.

    :param counts: how many there are of some kinds of nodes, whatever they ask for
    """
    return _graph(tuple(sorted((world.node_counts | counts).items())), world.own_blocks)


def spec_of(node: str) -> NodeSpec:
    """Return the row of a node's kind, under the node's own name.

    That of a block of the user's has what all of them have in common.
    """
    kind, index = kind_and_index(node)
    if kind not in NODES:
        return dataclasses.replace(_OWN, name=node)
    if index >= NODES[kind].instances:
        raise KeyError(node)
    return dataclasses.replace(NODES[kind], name=node)


def order_of(node: str) -> int:
    """Return where a node stands among those of a step."""
    kinds, kind = list(NODES), kind_and_index(node)[0]
    return 2 * kinds.index(kind) if kind in NODES else 2 * kinds.index(_OWN_BEFORE) - 1


def is_node(name: str) -> bool:
    """Return whether some graph has a node of a name."""
    kind, index = kind_and_index(name)
    return kind in NODES and index < NODES[kind].instances


def load(path: str) -> typing.Any:
    """Import what `module:Name` names, or `file.py:Name`."""
    module, name = path.rsplit(':', 1)
    return getattr(_of_file(module) if module.endswith('.py') else
                   importlib.import_module(module), name)


def block_class(spec: NodeSpec, own_class: str = '') -> typing.Any:
    """Return the class of a block.

    :param own_class: `module:Class` in the place of the one of its row
    :raises ParameterError: it is a block of the user's, whose class may not be imported
    """
    if is_node(spec.name):
        return load(own_class or spec.block)
    return own_block_class(f'block {spec.name}: class', spec.block)


def own_block_class(owner: str, path: str) -> typing.Any:
    """Return the class of a block of the user's.

    :param owner: what to call it in an error sentence
    :raises ParameterError: it may not be imported, or there is none
    """
    from px4_sim_ros.model.faults.actions import check_allowed
    if not path.startswith(OF_THE_PACKAGE):
        check_allowed(owner, path)
    try:
        return load(path)
    except Exception as error:
        raise ParameterError(f'{owner} = {shown(path)}: cannot be imported:'
                             f' {why_not_imported(error)}') from error


def _of_file(path: str) -> typing.Any:
    """Return a file as a module, which is run once.

    :raises OSError: there is no such file
    """
    file = pathlib.Path(os.path.realpath(path))
    name = str(file)
    if name not in sys.modules:
        found = importlib.util.spec_from_file_location(name, file)
        assert found is not None and found.loader is not None, 'its name ends in .py'
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module         # dataclasses look there
        try:
            found.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
