# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arguments of the launch files: the only list of them."""
from __future__ import annotations

import typing

from px4_sim_ros.link.hil.line import AUTOPILOTS
from px4_sim_ros.model.environment.wind import WIND_CHOICES
from px4_sim_ros.px4.sitl import ONE_CORE, SCHEDULES


class Argument(typing.NamedTuple):
    default: str | None            # None: it has to be given
    description: str
    choices: tuple[str, ...] = ()


ARGUMENTS: dict[str, Argument] = {
    'mode': Argument(
        'composed', 'All nodes in one process, or a process for each node.',
        ('composed', 'separate')),
    'autopilot': Argument(
        'embedded', f"Who flies: one of {', '.join(AUTOPILOTS)}. The one that comes along, a PX4"
        ' that is started, none: wait for yours, or the line to a flight controller in HITL.'),
    'vehicle': Argument(
        '', 'Name in config/vehicles, or a path. Without it that of the launch file or of the'
        ' parameters.'),
    'wind': Argument(
        '', f"Model of the wind, one of {', '.join(WIND_CHOICES)}. Without it that of the"
        ' parameters, none.'),
    'profile': Argument(
        '', 'How good the sensors are: a name in config/profiles, or a path.'),
    'px4_dir': Argument(
        '', 'A PX4 that was built or installed, as of `fly --px4`; by default PX4_DIR of the'
        ' environment, or the first that is found.'),
    'px4_schedule': Argument(
        ONE_CORE, 'PX4 keeps to a core of its own, which is faster where cores are few; goes'
        ' there before all else, so that a flight repeats bit for bit; or uses all cores.',
        SCHEDULES),
    'mission': Argument(
        'auto', 'Mission that a pilot flies: a name in config/missions, a path, or none. auto:'
        ' square with the embedded autopilot, otherwise none.'),
    'scenario': Argument(
        '', 'What happens in the flight, and what has to hold: a name in config/scenarios, or a'
        ' path.'),
    'scene': Argument(
        '', 'What stands in the world: a name in config/scenes, or a path.'),
    'instance': Argument(
        '', 'As PX4: the HIL port is TCP 4560 + instance. Without it that of the parameters, 0.'),
    'speed_factor': Argument(
        '', 'Simulated over wall time, or max. Without it that of the parameters, 1.'),
    'paused': Argument(
        'false', 'Hold time before the first step, until a service or command resumes it.',
        ('false', 'true')),
    'seed': Argument(
        '', 'Seed of all random streams. Without it that of the parameters, 1.'),
    'px4_topics': Argument(
        'false', "PX4's own ROS 2 topics as a part of the step, without an agent; or, with commas"
        ' between them, those to PX4 that are awaited, as offboard_control_mode.'),
    'agent': Argument(
        'false', "Start eProsima's MicroXRCEAgent beside PX4, for its topics outside the step.",
        ('false', 'true')),
    'record': Argument(
        '', 'Folder that becomes a rosbag2 bag of all messages; it must not exist yet.'),
    'namespace': Argument('', 'Namespace of all nodes and relative topics.'),
    'params_file': Argument('', 'ROS 2 parameter file laid over config/simulation.yaml.'),
    'nodes': Argument(
        '', 'Classes of yours in place of nodes: NAME=MODULE:CLASS, several with commas between.'),
    'remap': Argument(
        '', 'Remappings of topics: [NODE:]TOPIC:=NAME, several with commas between.'),
    'rviz': Argument(
        'false', 'Start rviz2 and what it shows: the node visualizer and, if it is installed,'
        ' robot_state_publisher.', ('false', 'true')),
    'publish_tf': Argument(
        'false', 'Publish /tf and /tf_static: the true pose at the display rate of simulated'
        ' time, and where the sensors are.', ('false', 'true')),
    'log_level': Argument(
        'info', 'Which messages of nodes are logged: those of this level and above.',
        ('debug', 'info', 'warn', 'error', 'fatal')),
}

# Those of the launch file for several vehicles.
FLEET_ARGUMENTS: dict[str, Argument] = {
    'fleet': Argument(None, 'Name in config/fleets, or a path.'),
    'mode': Argument(
        'composed', 'All nodes in one process, or a process for each vehicle.',
        ('composed', 'separate')),
    **{name: ARGUMENTS[name] for name in (
        'autopilot', 'vehicle', 'wind', 'profile', 'px4_dir', 'px4_schedule', 'mission',
        'scene', 'instance', 'speed_factor', 'paused', 'seed', 'px4_topics', 'agent', 'record',
        'params_file', 'nodes', 'rviz', 'publish_tf', 'log_level')},
}
