# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servos and wheels as they were: Rerun turns what they turn, the report has lines of them."""
import numpy as np
import pytest
from comparison_flight import record_flight
from report_flights import Page, numbers_of

pytest.importorskip('rerun', reason='rerun-sdk is not installed')
from test_rerun_log import written

from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.report.flight_report import report
from px4_sim_ros.spec.files import load_vehicle
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
    read = written(folder / 'seen.rrd', bag.run.configuration({}), series)
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


def turns_of(read, frame, axis):
    """Return by which angles a frame is turned about an axis (1: y, 2: z), and about no other."""
    _, xyzw = read.of(f'/world/vehicle/{frame}', 'Transform3D:quaternion')
    others = [i for i in range(3) if i != axis]
    assert not xyzw[:, 0, others].any(), frame
    return 2.0 * np.arctan2(xyzw[:, 0, axis], xyzw[:, 0, 3])


def test_rerun_rolls_and_steers_each_wheel(flight):
    vehicle, bag, folder = flight
    joints = read_series(bag)['joint_states']
    rolled, steering = (joints[f'wheel_{name}'].values for name in ('angle_rad', 'steering_rad'))
    assert rolled.shape == (len(joints['wheel_angle_rad'].time_s), len(vehicle.wheels))
    read = written(folder / 'wheels.rrd', bag.run.configuration({}), {'joint_states': joints})
    steered = [i for i, wheel in enumerate(vehicle.wheels) if wheel.has_steering]
    for i in range(len(vehicle.wheels)):
        frame = f'wheel_{i + 1}_link'
        if i in steered:
            # It rolls in the frame that it is steered with.
            headings = turns_of(read, f'wheel_{i + 1}_steering_link', axis=2)
            assert headings == pytest.approx(steering[:, steered.index(i)], abs=1e-6)
            frame = f'wheel_{i + 1}_steering_link/{frame}'
        apart = turns_of(read, frame, axis=1) - rolled[:, i]
        assert np.remainder(apart + 1.0, 2.0 * np.pi) - 1.0 == pytest.approx(0.0, abs=1e-5)
    if vehicle.name == 'rover_ackermann':
        assert rolled[-1].min() > 0.3
        # The inner wheel, on the left, is steered further.
        assert steering[-1, 0] > 1.03 * steering[-1, 1] > 0.1


def test_the_report_has_the_angles_of_servos_and_the_speeds_of_wheels(flight):
    vehicle, bag, _ = flight
    traces = [trace for figure in Page(report(bag)).figures for trace in figure['data']]
    joints = read_series(bag)['joint_states']
    for part, field, count in (('servo', 'servo_angle_rad', len(vehicle.servos)),
                               ('wheel', 'wheel_speed_rad_s', len(vehicle.wheels))):
        lines = {trace['name']: trace for trace in traces
                 if str(trace.get('name', '')).startswith(f'{part} ')}
        assert len(lines) == count
        for i, trace in enumerate(lines.values()):
            np.testing.assert_allclose(
                numbers_of(trace['y']), joints[field].values[:, i], atol=1e-6)
