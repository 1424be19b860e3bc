# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command that makes the figures of docs/journal/validation.md.

Of its logs only a cut of the X500's may be shipped (test_readers.py). So a Crazyflie is simulated,
and its flights are written as the benchmark writes its runs.
"""
import importlib.util
import math
import pathlib
import re
import types

import pytest
import simulated
import yaml

from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.real import open_loop
from px4_sim_ros.real.fit import Estimate, Fit
from px4_sim_ros.spec.resources import read_yaml

parquet = pytest.importorskip('pyarrow.parquet')
ROOT = pathlib.Path(__file__).resolve().parents[2]
POLE_PAIRS = 6


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / 'docs' / f'{name}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def figures():
    return script('make_validation')


def test_what_is_missing_is_named_with_its_source(figures, tmp_path, capsys):
    assert figures.main([str(tmp_path), '--out', str(tmp_path / 'out')]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(figures.SOURCES)
    for line, (name, source) in zip(printed, figures.SOURCES.items()):
        assert line == f'left out: {tmp_path / name} is not there ({source})'


def test_the_page_names_the_command_and_its_files(figures):
    page = (ROOT / 'docs' / 'journal' / 'validation.md').read_text(encoding='utf-8')
    assert 'make validation DATA=' in page
    assert 'docs/make_validation.py $(DATA)' in (ROOT / 'Makefile').read_text(encoding='utf-8')
    for source in figures.SOURCES.values():
        assert all(commit in page for commit in re.findall(r'at (\w{7})', source))


def test_an_interval_is_counted_exactly(tmp_path, capsys, monkeypatch):
    """The truth of a number is that of the flight's own file; one on the end of it is inside."""
    counting, content = script('count_intervals'), simulated.iris()
    flight = simulated.fly(content, duration_s=20.0)
    (tmp_path / '00' / 'ros').mkdir(parents=True)
    (tmp_path / '00' / 'ros' / 'log.ulg').touch()
    text = yaml.safe_dump(content)
    for name in 'nominal.yaml', 'vehicle.yaml':
        (tmp_path / '00' / name).write_text(text, encoding='utf-8')
    thrust = content['rotor_model']['thrust_coefficient_n_s2']
    estimates = [Estimate(name, 0.0, value, half_width) for name, value, half_width in (
        ('rotor_model.thrust_coefficient_n_s2', 2.0 * thrust, thrust),
        ('rotor_model.thrust_coefficient_n_s2', 2.0 * thrust, 0.9999 * thrust),
        ('wind_m_s[0]', -0.01, 0.02), ('mounting_rad[0]', 0.001, 0.0005))]
    fitted = Fit(tuple(estimates), (), 1, 1, open_loop.FREE)
    monkeypatch.setattr(counting, 'read_flight', lambda path: flight)
    monkeypatch.setattr(counting.identification, 'identified', lambda *_: (
        types.SimpleNamespace(estimates=estimates, fit=fitted), text))
    assert counting.main([str(tmp_path), '--numbers', '0', '1', '--px4-dir', '']) == 0
    printed = capsys.readouterr().out
    assert '| rotor_model.thrust_coefficient_n_s2 | 2 | 1 | 50.0% |' in printed
    assert '| wind_m_s[0] | 1 | 1 | 100.0% |' in printed
    assert '| all | 4 | 2 | 50.0% |' in printed
    assert f'left out: {tmp_path / "01"} has no log of PX4' in printed
    assert 'count_intervals.py $(OUT)' in (ROOT / 'Makefile').read_text(encoding='utf-8')


def write_run(path, content, seed):
    """Write a simulated flight as a run of the nanodrone benchmark."""
    import pyarrow
    flight = simulated.fly(content, seed, duration_s=18.0, noise=(0.0, 0.0, 0.0, 0.0))
    speeds = open_loop.drive(flight, Vehicle.from_mapping('vehicle', content)).speeds
    columns = dict(zip(
        ('x', 'y', 'z', 'vx', 'vy', 'vz', 'qw', 'qx', 'qy', 'qz', 'wx', 'wy', 'wz'),
        (*flight.position_m.T, *flight.velocity_m_s.T, *flight.attitude.T, *flight.rate_rad_s.T)))
    columns |= {f'm{i}_erpm': speed / math.tau * 60.0 * POLE_PAIRS
                for i, speed in enumerate(speeds.T, 1)}
    parquet.write_table(pyarrow.table({'t': flight.time_s, **columns}), path)


@pytest.mark.slow       # calculates for seconds
@pytest.mark.long       # in each push test_identification finds what made a flight
def test_runs_of_a_simulated_crazyflie_give_its_numbers_back(figures, tmp_path, capsys):
    runs = tmp_path / 'nanodrone'
    runs.mkdir()
    content = read_yaml(ROOT / 'examples' / 'crazyflie.yaml', 'vehicle file')
    content['rotor_model']['thrust_coefficient_n_s2'] *= 1.1
    for seed, name in enumerate(('multisine_run1', 'square_run1', 'melon_run1')):
        write_run(runs / f'{name}.parquet', content, seed)
    assert figures.main([str(tmp_path), '--out', str(tmp_path / 'out')]) == 0
    printed = capsys.readouterr().out
    thrust = re.search(r'thrust of a rotor.*\| 3\.72e-08 \| (\S+) \+- ', printed)
    assert float(thrust[1]) == pytest.approx(1.1 * 3.72e-8, rel=2e-3)
    # Of 18 s those starts that have 0.5 s behind them.
    assert 'mean errors over 0.5 s from 1750 starts' in printed
    came, found = (float(re.search(
        rf'\| {model}, attitude as logged \| \S+ \| (\S+) ', printed)[1])
        for model in ('as published', 'identified'))
    assert found < 0.01 < 0.3 < came
    assert 'name: crazyflie_identified' in (
        tmp_path / 'out' / 'crazyflie_identified.yaml').read_text(encoding='utf-8')
