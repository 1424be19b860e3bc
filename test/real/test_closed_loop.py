# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures of the closed loop, of logs whose set points are off by what is known."""
import json
import math

import numpy as np
import pytest
import ulog_file
from test_readers import quad_parameters, topics, turn

from px4_sim_ros.cli.command_line import main
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import quaternion_enu_flu_to_ned_frd
from px4_sim_ros.model.rotation import from_rotation_vector, multiply
from px4_sim_ros.real.closed_loop import compared, figures

pytest.importorskip('pyulog')
TILTED_RAD, SHAKE_M_S2, SHAKE_HZ = 0.05, 2.0, 40.0


def log(path, off_m=0.5, imu_rows=2400):
    """Write a flight on a circle that is off its set points, shaken at 40 Hz."""
    table = topics()
    times, fields = table['vehicle_local_position']
    at = {name: values for _, name, values in fields}
    # North, east, down.
    table['vehicle_local_position_setpoint'] = times, [
        ('float', 'x', at['x'] + 0.6 * off_m), ('float', 'y', at['y'] - 0.8 * off_m),
        ('float', 'z', at['z'] + 0.2)]
    times = table['vehicle_attitude'][0]
    asked = np.array([quaternion_enu_flu_to_ned_frd(multiply(
        turn(t), from_rotation_vector((TILTED_RAD, 0.0, 0.0)))) for t in times / 1e6])
    table['vehicle_attitude_setpoint'] = times, [
        ('float', f'q_d[{i}]', asked[:, i]) for i in range(4)]
    t = np.arange(1.0, 13.0, 0.005)[:imu_rows]
    wave = SHAKE_M_S2 * np.sin(math.tau * SHAKE_HZ * t)
    # What is slow is motion.
    table['sensor_combined'] = 1e6 * t, [
        *(('float', f'accelerometer_m_s2[{i}]', wave + np.sin(t)) for i in range(3)),
        *(('float', f'gyro_rad[{i}]', 0.1 * wave) for i in range(3))]
    ulog_file.write(path, table, quad_parameters().items())
    return path


def test_figures_of_the_closed_loop(tmp_path):
    found = {one.name: one.value for one in figures(log(tmp_path / 'circle.ulg'))}
    assert found['off the set point along the ground, rms'] == pytest.approx(0.5, abs=0.02)
    assert found['off the set point in height, rms'] == pytest.approx(0.2, abs=0.01)
    assert found['greatest speed'] == pytest.approx(math.hypot(5.0, 1.0), rel=0.01)
    assert found['tilt off the set point, rms'] == pytest.approx(math.degrees(TILTED_RAD), rel=0.05)
    assert found['roll rate, rms'] == pytest.approx(math.sqrt(0.5), abs=0.05)
    # Of a flight at 5 m/s there is no hover.
    assert math.isnan(found['motor command in hover, mean'])
    assert found['accelerometer above 15 Hz, rms of an axis'] == pytest.approx(
        SHAKE_M_S2 / math.sqrt(2.0), rel=0.01)
    assert found['gyro above 15 Hz, rms of an axis'] == pytest.approx(
        0.1 * SHAKE_M_S2 / math.sqrt(2.0), rel=0.01)


def test_two_flights_stand_side_by_side(tmp_path, capsys):
    one, other = log(tmp_path / 'one.ulg'), log(tmp_path / 'other.ulg', off_m=1.5)
    rows = {row[0]: row[1:] for row in compared(one, [other])}
    assert [float(value) for value in rows['off the set point along the ground, rms, m']] == (
        pytest.approx([0.5, 1.5], abs=0.03))
    page, file = tmp_path / 'page.html', tmp_path / 'figures.json'
    assert main(['validate', str(one), '--vehicle', 'x500', '--against', str(other), '--report',
                 str(page), '--json', str(file)]) == 0
    assert 'off the set point along the ground' in capsys.readouterr().out
    assert '>Closed loop<' in page.read_text(encoding='utf-8')
    figures_of = json.loads(file.read_text(encoding='utf-8'))['closed_loop']
    assert figures_of['motor command in hover, mean'] == ['-', '-']


def test_what_is_no_log_of_px4_is_refused(tmp_path, capsys):
    one = log(tmp_path / 'one.ulg')
    assert main(['validate', str(one), '--vehicle', 'x500', '--against', str(tmp_path / 'no.ulg'),
                 '--report', str(tmp_path / 'page.html')]) == 2
    assert 'closed loop: log' in capsys.readouterr().err


@pytest.mark.parametrize(('rows', 'why'), [
    (2, 'log few: has 2 rows of sensor_combined that can be used; it takes at least 50'),
    (49, 'log few: has 49 rows of sensor_combined that can be used; it takes at least 50'),
    (50, '')])
def test_few_samples_of_the_imu_are_one_sentence(rows, why, tmp_path):
    """A filter needs rows before its first; with 50, 10 periods of the sine, there are figures."""
    path = log(tmp_path / 'few.ulg', imu_rows=rows)
    if why:
        with pytest.raises(ParameterError, match=why):
            figures(path)
    else:
        assert figures(path)[-1].value == pytest.approx(0.1 * SHAKE_M_S2 / math.sqrt(2.0), rel=0.25)
