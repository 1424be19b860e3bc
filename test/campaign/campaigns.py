# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Campaigns for tests: of flights that only stand, and of flights that nobody flies."""
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.plan import Campaign

# Nobody flies, and it is over after a tenth of a second.
GROUND = {'mission': 'none', 'end': {'at_s': 0.1},
          'expect': [{'always': {'height_m': {'below': 1}}}]}


def campaign(name='x', **more):
    return Campaign.from_mapping(name, 'campaign file x.yaml', {
        'scenario': GROUND, 'runs': 6, 'vary': {'weather.speed_m_s': {'uniform': [0, 6]}}, **more})


def row_of(job):
    """Return the answer of a slot, without any flight; what is windy fails."""
    speed_m_s = job.scenario['weather']['speed_m_s']
    return {'row': {
        'outcome': 'held' if speed_m_s < 3 else 'failed', 'failure': '', 'expect_1': 'calm',
        'holds_1': speed_m_s < 3, 'margin_1': 3 - speed_m_s, 'unit_1': 'm/s', 'sim_time_s': 1.0,
        'fingerprint': f'{job.number:016x}', 'flying_s': 0.0, 'recording': '', 'wall_s': 0.0,
        }, 'again': 0}


def row(**more):
    """Return a row as it stands in the folder of a campaign without inputs."""
    return {'run': 1, 'outcome': 'held', 'failure': '', 'fingerprint': 'a', 'command': '',
            'sim_time_s': 1.0, 'flying_s': 1.0, 'again': 0, **more}


def folder_of(path, found=None):
    return Folder.make(path, found or campaign(), None)
