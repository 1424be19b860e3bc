# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What docs/scenarios.md shows is what the code takes."""
import pathlib
import re

import pytest
import yaml

from px4_sim_ros.model.faults.channels import CHANNELS
from px4_sim_ros.spec.configuration import check_flown, load_configuration

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'scenarios.md').read_text(encoding='utf-8')
FILES = re.findall(r'```yaml\n(.*?)```', PAGE.partition('\n## Missions')[0], re.S)
CODE, = re.findall(r'```python\n(.*?)```', PAGE, re.S)


@pytest.mark.parametrize('text', FILES, ids=['a file', 'refusals', 'sticks', 'an own action'])
def test_each_file_of_the_page_is_a_scenario(text, tmp_path, monkeypatch):
    (tmp_path / 'my_faults.py').write_text(CODE, encoding='utf-8')
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / 'my.yaml'
    file.write_text(text, encoding='utf-8')
    configuration = load_configuration(
        None, {'': {'scenario': str(file)}}, base={'': {'mission': 'square'}})
    check_flown(configuration)
    assert configuration.scenario.events
    for key, value in yaml.safe_load(text).get('place', {}).items():
        assert getattr(configuration.world, key) == value


def test_all_channels_are_named():
    rows = dict(re.findall(r'^\| (`[^|]+) \| (`[^|]+) \|$', PAGE, re.M))
    for sensor, channels in CHANNELS.items():
        row = next(value for key, value in rows.items() if f'`{sensor}`' in key)
        assert [f'`{name}`' in row for name in channels] == [True] * len(channels)
