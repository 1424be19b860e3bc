# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tables of a recording have what another reader finds in it."""
import csv

import pytest
from bags import write_bag
from rosbags.highlevel import AnyReader

END_US = 200_000


@pytest.fixture
def bag(tmp_path):
    write_bag(tmp_path / 'bag', END_US)
    return tmp_path / 'bag'


def read(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file))


def test_each_topic_with_signals_is_a_table(here, bag, tmp_path):
    result = here('export', bag, '-o', tmp_path / 'tables')
    assert result.returncode == 0, result.stderr
    files = result.stdout.splitlines()
    assert str(tmp_path / 'tables' / 'imu_data_raw.csv') in files
    with AnyReader([bag]) as reader:
        connections = [c for c in reader.connections if c.topic == '/imu/data_raw']
        theirs = [(t, reader.deserialize(data, c.msgtype).linear_acceleration.y)
                  for c, t, data in reader.messages(connections)]
    ours = read(tmp_path / 'tables' / 'imu_data_raw.csv')
    assert [(round(float(row['time_s']) * 1e9), float(row['specific_force_m_s2.y']))
            for row in ours] == theirs
    assert len(ours) == END_US // 4000


def test_parquet_has_the_same_numbers_of_the_topics_that_are_asked_for(here, bag, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet')
    words = '--topics', 'baro', 'ground_truth/odom', '--every', 2
    for form in 'csv', 'parquet':
        result = here('export', bag, '-o', tmp_path / form, '--format', form, *words)
        assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / 'parquet').iterdir()} == {
        'baro.parquet', 'ground_truth_odom.parquet'}
    table = parquet.read_table(tmp_path / 'parquet' / 'ground_truth_odom.parquet').to_pylist()
    text = read(tmp_path / 'csv' / 'ground_truth_odom.csv')
    assert [{key: float(value) for key, value in row.items()} for row in text] == table
    assert [row['time_s'] for row in table][:3] == [0.004, 0.012, 0.02]
    assert {'position_m.x', 'attitude_wxyz.w', 'rate_rad_s.z'} <= table[0].keys()


@pytest.mark.parametrize(('words', 'sentence'), [
    (['--topics', 'barro'], "topics 'barro': the recording has no such signals; did you mean baro"),
    (['--every', 0], 'every = 0: must be at least 1')])
def test_what_is_wrong_is_a_sentence(here, bag, tmp_path, words, sentence):
    result = here('export', bag, '-o', tmp_path / 'tables', *words)
    assert result.returncode == 2
    assert result.stderr.startswith(f'export: {sentence}')
    assert not (tmp_path / 'tables').exists()
