# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What rviz2 shows of several vehicles: what it shows of one, for each of them, under one `map`."""
from __future__ import annotations

import copy
import typing

import yaml

from px4_sim_ros.messages.truth import BODY_FRAME
from px4_sim_ros.recording.report.plots import COLOURS, rgb
from px4_sim_ros.spec.resources import DUMPER, LOADER, config_directory
from px4_sim_ros.step.graph import qualified

_TOPICS = 'Topic', 'Description Topic'


def fleet_rviz(vehicles: typing.Sequence[str]) -> str:
    content = yaml.load((config_directory() / 'iris.rviz').read_text(encoding='utf-8'), LOADER)
    manager = content['Visualization Manager']
    displays = []
    for display in manager['Displays']:
        if any(name in display for name in _TOPICS):
            displays += [_of_vehicle(display, vehicle, COLOURS[i % len(COLOURS)])
                         for i, vehicle in enumerate(vehicles)]
        else:
            display.pop('Frames', None)       # of one vehicle
            displays.append(display)
    manager['Displays'] = displays
    views = manager['Views']
    for view in (views['Current'], *views['Saved']):
        if view['Target Frame'] == BODY_FRAME:
            view['Target Frame'] = qualified(vehicles[0], BODY_FRAME)
    return yaml.dump(content, Dumper=DUMPER, sort_keys=False, allow_unicode=True)


def _of_vehicle(display: typing.Any, vehicle: str, colour: str) -> typing.Any:
    """Return a display of one vehicle for another, with its topic, frames and colour."""
    its = copy.deepcopy(display)
    its['Name'] = f"{vehicle}: {display['Name']}"
    for name in _TOPICS:
        if name in its:
            its[name]['Value'] = f"/{vehicle}/{display[name]['Value']}"
    if 'TF Prefix' in its:
        its['TF Prefix'] = vehicle
    if display['Class'] == 'rviz_default_plugins/Path':
        its['Color'] = '; '.join(map(str, rgb(colour)))
    return its
