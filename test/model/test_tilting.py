# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rotors that servos tilt: the vehicle file, the commands, the cruise."""
import dataclasses
import math

import numpy as np
import pytest
import yaml

from px4_sim_ros.check.figures import in_cruise
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, wrench
from px4_sim_ros.model.body.surfaces import surface_wrench
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import ActionContext
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.model.faults.motion import BodyInputs
from px4_sim_ros.model.sensors.airspeed import Airspeed
from px4_sim_ros.model.truth import STILL, Truth
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory
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
    effect = action.begin(ActionContext('event', 0, 'dynamics', world, tiltrotor, None, inputs))
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


# A vehicle that stands on its tail: what it is in cruise, its elevons, its pitot tube.

DENSITY, SPEED = 1.2, 18.0
NO_TURN = (0.0, 0.0, 0.0)


@pytest.fixture(scope='module')
def tailsitter():
    return load_vehicle('tailsitter')


def lying(v):
    """Return a vector of hover's axes in those of cruise: up is ahead, behind is up."""
    return v[2], v[1], -v[0]


def air(vehicle, world, flow, rate, speeds, angles):
    """Return force and torque of rotors and surfaces, FLU."""
    plant = Plant.of(
        dataclasses.replace(vehicle, battery=None), Environment.of(world), ground=False)
    total = np.array(wrench(plant.constants, plant.rotors, np.array(speeds), flow, rate, DENSITY,
                            OUT_OF_GROUND_EFFECT)[:6])
    return total + surface_wrench(
        plant.surfaces, plant.rotors, np.array(angles), flow, rate, DENSITY)


def test_which_vehicles_stand_on_their_tails(tailsitter):
    assert tailsitter.stands_on_its_tail
    assert not any(load_vehicle(name).stands_on_its_tail
                   for name in ('iris', 'plane', 'standard_vtol', 'tiltrotor'))


def test_in_cruise_it_is_the_same_vehicle_turned(tailsitter, world):
    random, cruising = np.random.default_rng(3), in_cruise(tailsitter)
    assert not cruising.lift_rotors
    for _ in range(30):
        flow, rate = random.uniform(-15.0, 15.0, 3), random.uniform(-2.0, 2.0, 3)
        speeds, angles = random.uniform(200.0, 900.0, 4), random.uniform(-0.5, 0.5, 2)
        standing = air(tailsitter, world, tuple(flow), tuple(rate), speeds, angles)
        turned = air(cruising, world, lying(flow), lying(rate), speeds, angles)
        assert turned == pytest.approx(
            [*lying(standing[:3]), *lying(standing[3:])], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(('index', 'name'), [(0, 'left_elevon'), (1, 'right_elevon')])
def test_elevons_do_what_px4_allocates(tailsitter, world, index, name):
    """CA_SV_CSn_TRQ_P and _Y: torque about y and z of FRD in hover, by a flow from the nose."""
    def torque(angle):
        angles = [angle if i == index else 0.0 for i in range(2)]
        return air(tailsitter, world, (0.0, 0.0, SPEED), NO_TURN, (0.0,) * 4, angles)[3:]

    assert tailsitter.servos[index].name == name
    controls = [0.0] * 16
    controls[tailsitter.servos[index].control] = 0.2
    angle = tailsitter.references(controls, armed=True)[4 + index]
    _, y, z = torque(angle) - torque(0.0)
    assert -y > 0.0                                  # TRQ_P of the airframe is 0.5
    assert math.copysign(1.0, -z) == math.copysign(
        1.0, tailsitter.px4_parameters[f'CA_SV_CS{index}_TRQ_Y'])


def test_its_pitot_tube_is_along_its_nose():
    configuration = load_configuration(None, {'': {'vehicle': 'tailsitter'}})
    parameters = configuration.nodes['airspeed']
    assert parameters.mounting_deg == (0.0, -90.0, 0.0)
    quiet = dataclasses.replace(parameters, noise_pa=0.0)
    sensor = Airspeed('airspeed', quiet, configuration.world)
    rest = Truth(0, NO_TURN, (1.0, 0.0, 0.0, 0.0), (3.0, 4.0, SPEED), NO_TURN, NO_TURN, NO_TURN,
                 (0.0,) * 4, (0.0,) * 4)
    density = configuration.world.atmosphere().density_kg_m3(configuration.world.home_altitude_m)
    assert sensor.measure(rest, STILL).differential_pressure_pa == pytest.approx(
        0.5 * density * SPEED ** 2, rel=1e-12)


def test_a_user_may_turn_it():
    configuration = load_configuration(
        None, {'': {'vehicle': 'tailsitter'}, 'airspeed': {'mounting_deg': [0.0, 0.0, 0.0]}})
    assert configuration.nodes['airspeed'].mounting_deg == NO_TURN
    plane = load_configuration(None, {'': {'vehicle': 'plane'}})
    assert plane.nodes['airspeed'].mounting_deg == NO_TURN
