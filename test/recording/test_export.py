# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tables of a recording have what another reader finds in it."""
import csv
import importlib
import pathlib
import re

import pytest
from bags import write_bag
from rosbags.highlevel import AnyReader

from px4_sim_ros.recording.analysis.export import columns_of
from px4_sim_ros.recording.analysis.series import FIELDS, read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.step.graph import TOPICS
from px4_sim_ros.step.side_topics import RECORDED

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


@pytest.mark.parametrize('field, count, columns', [
    ('geodetic_deg_m', 3, ['latitude_deg', 'longitude_deg', 'altitude_m']),
    ('rotor_speed_rad_s', 1, ['rotor_speed_rad_s.1']),
    ('rotor_speed_rad_s', 4, [f'rotor_speed_rad_s.{i}' for i in (1, 2, 3, 4)]),
    ('rotor_speed_rad_s', 3, [f'rotor_speed_rad_s.{i}' for i in (1, 2, 3)]),
    ('rotor_speed_reference_rad_s', 6,
     [f'rotor_speed_reference_rad_s.{i}' for i in range(1, 7)]),
    ('attitude_wxyz', 4, [f'attitude_wxyz.{axis}' for axis in 'wxyz']),
    ('pressure_pa', 1, ['pressure_pa']), ('status', 1, ['status'])])
def test_columns_have_the_same_names_for_any_number_of_rotors(field, count, columns):
    assert columns_of(field, count) == columns


def test_each_field_has_as_many_columns_as_parts(bag):
    for fields in read_series(BagReader(bag)).values():
        for field, series in fields.items():
            assert len(columns_of(field, series.values.shape[1])) == series.values.shape[1], field


def test_the_page_names_the_columns():
    """Each reader gives as many numbers as the page has columns, from a message of its topic."""
    page = (pathlib.Path(__file__).parents[2] / 'docs' / 'recording.md').read_text()
    told = dict(re.findall(r'^\| `([\w/]+)` \| (`.*`(?:, \.\.\.)?) \|$', page, re.M))
    for topic, fields in FIELDS.items():
        package, *_, name = {**TOPICS, **RECORDED}[topic].type.split('/')
        message = getattr(importlib.import_module(f'{package}.msg'), name)()
        columns = []
        for field, read in fields.items():
            count = len(read(message))
            columns += columns_of(field, count) if count else [f'{field}.1']
        # Axes are named once, above the table.
        columns = list(dict.fromkeys(re.sub(r'\.[w-z]$', '', column) for column in columns))
        assert re.findall('`(.*?)`', told[topic]) == columns, topic
