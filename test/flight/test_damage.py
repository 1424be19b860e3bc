# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every command that reads a recording that is cut says so, once, and up to where it was read."""
import csv
import json
import os
import shutil

import pytest
from commands import here, write_hop
from instances import free

from px4_sim_ros.recording.bag.reader import BagReader

pytestmark = pytest.mark.process


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """Return the recording of a short flight, whose instance stays free for `refly`."""
    folder = tmp_path_factory.mktemp('whole')
    with free() as instances:
        flown = here('fly', '--mode', 'core', '--mission', write_hop(folder, 0.4), '--record',
                     folder / 'bag', '--instance', next(instances))
        assert flown.returncode == 0, flown.stderr
        yield folder / 'bag'


@pytest.fixture
def cut(whole, tmp_path):
    """Return the recording without its end, and what is to be told about it."""
    folder = tmp_path / 'bag'
    shutil.copytree(whole, folder)
    file, = folder.glob('*.mcap')
    os.truncate(file, file.stat().st_size * 7 // 10)
    bag = BagReader(folder)
    with pytest.warns(UserWarning, match='ends too early; it was read up to t = '):
        assert len(list(bag.messages())) > 1000
    return folder, bag.damage


@pytest.mark.parametrize('words', [
    'export {} -o {}_csv', 'report {} -o {}.html', 'compare {} {}', 'compare {whole} {}',
    'replay {} --json {}.json', 'refly {}', 'validate {} --vehicle iris --report {}.html',
    'identify {} --vehicle iris --out {}.yaml --fit body.mass_kg', 'fly --mode core --expect {}',
    # Its messages are those of `report`.
    pytest.param('view {} --viewer {}.rrd', marks=pytest.mark.long)])
def test_a_recording_that_is_cut(words, cut, whole, instance):
    if words.startswith('view'):
        pytest.importorskip('rerun')
    folder, damage = cut
    words = words.format(*[folder] * 3, whole=whole).split()
    told = here(*words, *(['--instance', instance] if words[0] == 'fly' else []))
    lines = told.stderr.splitlines()
    assert lines.count(damage) == 1
    assert len(lines) == 1 or told.returncode == 2       # of what came of it
    if words[0] == 'replay':
        found = json.loads(folder.with_suffix('.json').read_text())['comparison']
        assert found['damages'] == [damage, '']
    if words[0] == 'export':
        with open(f'{folder}_csv/ground_truth_odom.csv') as file:
            *_, last = csv.DictReader(file)
        assert f"t = {float(last['time_s']):.6f} s" in damage
