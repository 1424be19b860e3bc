# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What docs/models.md says of commands, numbers and example vehicles is true."""
import pathlib
import re

import pytest
import yaml

from px4_sim_ros.real import fit, predictions
from px4_sim_ros.real.named import NAMED
from px4_sim_ros.spec.files import load_vehicle

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'models.md').read_text(encoding='utf-8')
FLAT = ' '.join(PAGE.split())


def test_numbers_are_those_that_can_be_identified():
    table = PAGE[PAGE.index('| number | it takes |'):].partition('\n\n')[0]
    told = {name for name in re.findall(r'`([\w.]+)`', table) if '.' in name or '_' in name}
    known = {re.sub(r'\[\d\]$', '', name) for name, one in NAMED.items() if one.by_default}
    told = {name.replace('..._down_s', 'rotor_model.time_constant_down_s') for name in told}
    assert {re.sub(r'\[\d\]$', '', name) for name in told} >= {
        name for name in known if '[' not in name and 'battery' not in name}
    assert all(name in known or name.startswith('battery') for name in told), told - known


def test_what_the_page_says_of_the_fit_is_so():
    assert fit.BLOCK_S == 2.0 and 'over blocks of two seconds' in FLAT
    assert fit.EXPLAINED == 0.5 and 'explains less than half' in FLAT
    assert predictions.HORIZONS_S == (0.1, 0.5, 2.0) and 'After 0.1, 0.5 and 2 s' in FLAT


@pytest.mark.parametrize('name', ['x500_v2', 'crazyflie', 'crazyflie_identified'])
def test_example_vehicles_load_and_have_sources(name):
    path = ROOT / 'examples' / f'{name}.yaml'
    assert load_vehicle(str(path)).name == yaml.safe_load(path.read_text('utf-8'))['name'] == name
    text = path.read_text(encoding='utf-8')
    assert ('identified, +-' in text) is (name != 'crazyflie')
