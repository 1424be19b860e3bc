# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle that stands on its tail: what it is in cruise, its elevons, its pitot tube."""
import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.check.figures import in_cruise
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.rotors import OUT_OF_GROUND_EFFECT, wrench
from px4_sim_ros.model.body.surfaces import surface_wrench
from px4_sim_ros.model.sensors.airspeed import Airspeed
from px4_sim_ros.model.truth import STILL, Truth
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.vehicles_and_missions import load_vehicle

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
