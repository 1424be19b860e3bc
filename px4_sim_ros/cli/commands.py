# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands in groups: what each is for, and an example."""
from __future__ import annotations

import typing


class Command(typing.NamedTuple):
    """A command for a reader who does not know it."""

    purpose: str
    example: str               # its words


_STEERED = 'steer a flight that runs'
GROUPS: dict[str, dict[str, Command]] = {
    'fly': {
        'fly': Command('fly a mission from start to summary',
                       'fly --wind dryden --seed 7 --report flight.html'),
        'campaign': Command('fly a scenario many times while something varies in it',
                            'campaign wind_limit --runs 60'),
        'pilot': Command('fly a mission with an autopilot that runs already',
                         'pilot --mission square')},
    'look at a flight': {
        'report': Command('make a page about a recorded flight', 'report flights/one -o one.html'),
        'export': Command('write the signals of a recording as tables',
                          'export flights/one --format csv'),
        'compare': Command('compare two recordings', 'compare flights/one flights/two'),
        'replay': Command('fly the commands of a recording again',
                          'replay flights/one --set dynamics.integrator=rk45'),
        'refly': Command('fly the mission of a recording again, with its autopilot',
                         'refly flights/one --seed 8'),
        'view': Command('show a running graph or a recording in Rerun', 'view flights/one'),
        'visualizer': Command('publish for rviz2 and other viewers what a graph does',
                              'visualizer')},
    _STEERED: {
        'pause': Command('hold time at the end of this step', 'pause'),
        'resume': Command('let time run again', 'resume'),
        'step': Command('take some steps while time is paused', 'step 250'),
        'reset': Command('begin again at time 0, with the same seed', 'reset'),
        'speed': Command('set simulated over wall time', 'speed 1'),
        'status': Command('print the state of the graph', 'status --json'),
        'stop': Command('take the graph down', 'stop'),
        'top': Command('show what the graph does, node by node', 'top'),
        'sensor': Command('start or stop a sensor, or ask for its status', 'sensor gps stop'),
        'vehicle': Command('add a vehicle of a fleet to the world, remove it, or start it again',
                           'vehicle add px4_4'),
        'fault': Command('do something to a flight with a scenario: a motor, a sensor, the wind,'
                         ' ...', 'fault motor_off motor=2')},
    'a vehicle and its numbers': {
        'check-vehicle': Command('what follows from a vehicle file', 'check-vehicle iris'),
        'validate': Command('fly a real flight through the model: how wrong is it',
                            'validate log.ulg --vehicle x500'),
        'identify': Command('numbers of a vehicle file from real flights',
                            'identify log.ulg --vehicle x500 --out my_x500.yaml')},
    'this machine, and what there is': {
        'doctor': Command('what this machine has for a flight, what it lacks, and what to do',
                          'doctor'),
        'list': Command('all that has a name: vehicles, missions, scenarios, actions, campaigns,'
                        ' ...', 'list scenarios'),
        'px4-msgs': Command('build px4_msgs for nodes in Python, from the messages of a PX4',
                            'px4-msgs my_msgs --px4 ~/PX4-Autopilot')}}

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
STEERING = GROUPS[_STEERED]
"""Those to a graph that runs, which are in `control`; any other has a module of its name."""


def overview() -> str:
    """Return the groups for the end of the help."""
    width = max(map(len, COMMANDS))
    lines = []
    for group, commands in GROUPS.items():
        lines += ['', f'{group}:', *(f'  {name:{width}}  {command.purpose}'
                                     for name, command in commands.items())]
    return '\n'.join([*lines, '', '`px4_sim_ros COMMAND --help` has the options of a command, and'
                      ' an example.'])
