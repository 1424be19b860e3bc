# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Angles of servos as they were flown: Rerun turns what they turn, the report has them as lines."""
import base64

import numpy as np
import pytest
from comparison_flight import record_flight
from report_flights import Page

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
from test_rerun_log import written

from px4_sim_ros.config.vehicles_and_missions import load_vehicle
from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.report.flight_report import report
from px4_sim_ros.viewing.links import servo_frame

STEPS = 60
SHARE = 0.3         # of the travel of each servo
# A point of a part in its frame, and the axis of the body along which a positive angle moves it:
# trailing edges up or, of the rudder, to the right, rotors ahead, the front of wheels to the left.
BEHIND, ABOVE, AHEAD = (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
MOVES = {
    'plane': {'rudder': (BEHIND, (0, -1, 0)), 'left_aileron': (BEHIND, (0, 0, 1)),
              'right_aileron': (BEHIND, (0, 0, 1)), 'elevator': (BEHIND, (0, 0, 1))},
    'tiltrotor': {'right_tilt': (ABOVE, (1, 0, 0)), 'left_tilt': (ABOVE, (1, 0, 0)),
                  'left_aileron': (BEHIND, (0, 0, 1)), 'right_aileron': (BEHIND, (0, 0, 1)),
                  'elevator': (BEHIND, (0, 0, 1))},
    'rover_ackermann': {'steering': (AHEAD, (0, 1, 0))}}


@pytest.fixture(scope='module', params=list(MOVES))
def flight(request, tmp_path_factory):
    """Return vehicle, bag, and folder of a short run with all servos at a part of their travel."""
    vehicle = load_vehicle(request.param)
    folder = tmp_path_factory.mktemp('servos')
    controls = [SHARE] * 16
    for servo in vehicle.servos:
        controls[servo.control] = (-SHARE if servo.reverse else SHARE)
    given = [vehicle.references(controls, armed=True)] * STEPS
    return vehicle, record_flight(
        folder / 'bag', STEPS, {'': {'vehicle': request.param}}, given=given), folder


def turned(xyzw, point):
    """Return a point turned by a quaternion."""
    axis, w = np.array(xyzw[:3]), xyzw[3]
    cross = np.cross(axis, point)
    return np.array(point) + 2.0 * (w * cross + np.cross(axis, cross))


def test_rerun_turns_what_the_servos_turn(flight):
    vehicle, bag, folder = flight
    series = read_series(bag)
    read = written(folder / 'seen.rrd', bag.run.configuration({}), [series])
    time_s, angles = series['joint_states']['servo_angle_rad']
    times_us, plotted = read.scalars('/servos/angle')
    assert times_us == np.rint(time_s * 1e6).astype(int).tolist()
    np.testing.assert_array_equal(plotted.reshape(angles.shape), angles)
    for i, servo in enumerate(vehicle.servos):
        assert angles[-1, i] - servo.center_rad == pytest.approx(
            SHARE * servo.travel_rad, rel=0.05), servo.name
        point, way = MOVES[vehicle.name][servo.name]
        _, xyzw = read.of(f'/world/vehicle/{servo_frame(i)}', 'Transform3D:quaternion')
        seen = [turned(row, point) @ way for row in xyzw[:, 0]]
        # How far the end of an arm of 1 m is along the way, but for the dihedral of a wing.
        assert seen == pytest.approx(np.sin(angles[:, i]), rel=2e-3, abs=1e-5), servo.name


def test_the_report_has_the_angles(flight):
    vehicle, bag, _ = flight
    lines = {trace['name']: trace for figure in Page(report(bag)).figures
             for trace in figure['data'] if str(trace.get('name', '')).startswith('servo ')}
    angles = read_series(bag)['joint_states']['servo_angle_rad'].values
    assert len(lines) == len(vehicle.servos)
    for i, trace in enumerate(lines.values()):
        np.testing.assert_allclose(values_of(trace['y']), angles[:, i], atol=1e-6)


def values_of(y):
    """Return the values of a line as plotly has them: a list, or bytes as text."""
    return (np.frombuffer(base64.b64decode(y['bdata']), y['dtype']) if isinstance(y, dict)
            else np.array(y, float))
