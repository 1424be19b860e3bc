# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rotors that servos tilt: the vehicle file, the commands, the cruise."""
import dataclasses
import math

import pytest
import yaml

from px4_sim_ros.check.figures import in_cruise
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Onset
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.model.faults.motion import BodyInputs
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.spec.vehicles_and_missions import load_vehicle
from px4_sim_ros.viewing.markers import ThrustArrows

RIGHT, LEFT = 4, 5                      # among the references, and HIL_ACTUATOR_CONTROLS


@pytest.fixture(scope='module')
def tiltrotor():
    return load_vehicle('tiltrotor')


def refusal(section, index, **values):
    """Return what is said of the file with other values in an entry of a section."""
    content = yaml.safe_load((config_directory() / 'vehicles' / 'tiltrotor.yaml').read_text())
    content[section][index] |= values
    with pytest.raises(ParameterError) as error:
        Vehicle.from_mapping('vehicle file tilt.yaml', content)
    return str(error.value).removeprefix('vehicle file tilt.yaml: ')


@pytest.mark.parametrize(('section', 'values', 'sentence'), [
    ('rotors', {'tilted_by': 'left_tit'},
     "rotors[0].tilted_by = 'left_tit': there is no such part; did you mean left_tilt; there are"
     ' elevator, left_aileron, left_tilt, right_aileron, right_tilt'),
    ('rotors', {'hinge': [0, 0, 0]}, 'rotors[0].hinge = (0.0, 0.0, 0.0): must have a direction'),
    ('rotors', {'hinge': [0, 0, -2]},
     'rotors[0].hinge = (0.0, 0.0, -2.0): must not be along axis = (0.0, 0.0, 1.0), which would'
     ' not tilt'),
    ('rotors', {'hinge': 'y'}, "rotors[0].hinge = 'y': must be 3 numbers"),
    ('servos', {'center_rad': 4.0},
     'servos[0].center_rad = 4.0: must be at least -3.14159 and at most 3.14159 rad'),
])
def test_a_wrong_entry_is_one_sentence(section, values, sentence):
    assert refusal(section, 0, **values) == sentence


def test_a_servo_turns_about_its_angle_at_control_0(tiltrotor):
    controls = [0.0] * 16
    for control, degrees in ((-1.0, -10.0), (0.0, 40.0), (1.0, 90.0)):
        controls[RIGHT] = control
        references = tiltrotor.references(controls, armed=True)
        assert math.degrees(references[RIGHT]) == pytest.approx(degrees, abs=0.01)
        assert math.degrees(references[LEFT]) == pytest.approx(40.0, abs=0.01)
    servo = dataclasses.replace(tiltrotor.servos[0], reverse=True)
    assert servo.reference_rad(1.0) == pytest.approx(math.radians(-10.0), abs=1e-4)


def test_it_begins_there_and_stays_until_it_is_commanded(tiltrotor, build_dynamics):
    dynamics = build_dynamics(tiltrotor)
    for truth in (dynamics.truth(), dynamics.step(tiltrotor.rest)):
        assert truth.servo_angles_rad == (0.6981, 0.6981, 0.0, 0.0, 0.0)
    assert tiltrotor.references((0.0,) * 16, armed=False) == tiltrotor.rest


@pytest.mark.parametrize(('side', 'degrees'), [('positive', 90.0), ('negative', -10.0)])
def test_hard_over_is_the_end_of_its_travel(tiltrotor, world, side, degrees):
    action = read_action('test', 'servo_hard_over', {'servo': 'left_tilt', 'side': side}, {})
    inputs = BodyInputs((0.0,) * tiltrotor.reference_count, tiltrotor.rest)
    effect = action.begin(Onset('event', 0, 'dynamics', world, tiltrotor, None, inputs))
    found = effect(0, inputs).references_rad_s
    assert math.degrees(found[LEFT]) == pytest.approx(degrees, abs=0.01)


def test_in_cruise_the_rotors_in_front_pull(tiltrotor):
    cruising = in_cruise(tiltrotor)
    assert [rotor.lifts for rotor in cruising.rotors] == [False, True, False, True]
    for rotor in (cruising.rotors[0], cruising.rotors[2]):
        assert rotor.direction == pytest.approx((1.0, 0.0, 0.0), abs=1e-4)
    assert [rotor.lifts for rotor in tiltrotor.rotors] == [True] * 4
    assert in_cruise(load_vehicle('standard_vtol')) == load_vehicle('standard_vtol')


def test_thrust_arrows_are_tilted(tiltrotor):
    arrows = ThrustArrows(tiltrotor, 9.80665)
    hover = tiltrotor.hover_speed_rad_s(9.80665)
    right, behind, left, _ = arrows.vectors_m(
        (hover,) * 4, (math.radians(90.0), math.radians(30.0), 0.0, 0.0, 0.0))
    length = math.hypot(*behind)
    assert behind == (0.0, 0.0, length)
    assert right == pytest.approx((length, 0.0, 0.0), abs=1e-12)
    assert left == pytest.approx((0.5 * length, 0.0, math.sqrt(0.75) * length), abs=1e-12)
