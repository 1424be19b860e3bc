# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rovers that come along, driven by controls of their own: no autopilot."""
import dataclasses
import math

import pytest

from px4_sim_ros.check.figures import all_figures
from px4_sim_ros.check.px4 import contradictions
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import DynamicsParameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_mission, load_vehicle

ROVERS = 'rover_differential', 'rover_ackermann'
# Full speed ahead, and the tightest turn to the right, as HIL_ACTUATOR_CONTROLS has them.
AHEAD = {'rover_differential': (1.0, 1.0), 'rover_ackermann': (1.0, 0.0)}
TO_THE_RIGHT = {'rover_differential': (-0.2, 0.2), 'rover_ackermann': (0.3, 1.0)}


def standing(name):
    """Return a rover at home on an Earth at rest, else as `fly` makes it, and its figures."""
    vehicle = load_vehicle(name)
    configuration = load_configuration(None, {}, vehicle=vehicle)
    world = configuration.world
    environment = dataclasses.replace(Environment.of(world), earth_rate_enu=(0.0, 0.0, 0.0))
    parameters = configuration.of_node('dynamics', DynamicsParameters)
    step_s = world.step_us / parameters.substeps / 1e6
    [figures] = all_figures(vehicle, environment, step_s)
    return vehicle, Dynamics(parameters, vehicle, environment, world.step_us), figures


def driven(vehicle, dynamics, controls, duration_s):
    """Return the motion after a while with these controls."""
    references = vehicle.references((*controls, *[0.0] * 14), armed=True)
    for _ in range(round(duration_s / 0.01)):
        truth = dynamics.step(references)
    return truth


@pytest.mark.parametrize('name', ROVERS)
def test_it_is_as_fast_as_check_vehicle_says(name):
    """But for the slip that drag and rolling resistance take, straight on."""
    vehicle, dynamics, figures = standing(name)
    truth = driven(vehicle, dynamics, AHEAD[name], 8.0)
    assert truth.velocity_flu[0] == pytest.approx(figures.top_speed_m_s, rel=0.01)
    assert truth.position_enu[1] == pytest.approx(0.0, abs=1e-6)
    assert truth.rate_flu[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('name', ROVERS)
def test_it_turns_to_the_right_as_check_vehicle_says(name):
    """About the middle of the axle that is not steered."""
    vehicle, dynamics, figures = standing(name)
    truth = driven(vehicle, dynamics, TO_THE_RIGHT[name], 8.0)
    assert truth.rate_flu[2] < -0.1
    radius = abs(truth.velocity_flu[0] / truth.rate_flu[2])
    assert radius == pytest.approx(figures.turn_radius_m, rel=0.01, abs=0.001)


@pytest.mark.parametrize('name', ROVERS)
def test_disarmed_it_stands_where_it_is(name):
    vehicle, dynamics, _ = standing(name)
    driven(vehicle, dynamics, AHEAD[name], 2.0)
    at_rest = vehicle.references((0.7,) * 16, armed=False)
    places = [dynamics.step(at_rest).position_enu for _ in range(1000)]
    assert math.dist(places[-1], places[400]) < 1e-6


@pytest.mark.parametrize('name', ROVERS)
def test_parameters_of_px4_that_contradict_its_wheels_are_named(name):
    vehicle = load_vehicle(name)
    assert contradictions(vehicle) == []
    wrong = dataclasses.replace(vehicle, px4_parameters={'RO_MAX_THR_SPEED': 5.0})
    [sentence] = contradictions(wrong)
    assert sentence.startswith('px4_parameters.RO_MAX_THR_SPEED = 5: by wheels, servos and motors')


def test_it_has_a_step_that_its_autopilot_answers():
    """Unless the parameters of the run say otherwise."""
    vehicle = load_vehicle('rover_differential')
    configuration = load_configuration(None, {}, vehicle=vehicle)
    assert configuration.world.step_us == configuration.world.periods_us['imu'] == 10_000
    assert configuration.of_node('dynamics', DynamicsParameters).substeps == 5
    other = load_configuration(
        None, {'': {'step_us': 5000, 'periods_us.imu': 5000}}, vehicle=vehicle)
    assert other.world.step_us == 5000


@pytest.mark.parametrize(('mission', 'drives', 'sentence'), [
    ('square', True, 'vehicle x drives: the mission square must have neither take_off nor land'),
    ('rover', False,
     'vehicle x flies: the mission rover must begin with take_off and end with land')])
def test_a_mission_for_another_kind_of_vehicle_is_refused(mission, drives, sentence):
    with pytest.raises(ParameterError) as error:
        load_mission(mission).check_fits('vehicle x', drives)
    assert str(error.value) == sentence
    load_mission(mission).check_fits('vehicle x', not drives)


MOTOR = {'name': 'm', 'control': 0, 'lag_s': 0.1, 'max_speed_rad_s': 10.0}
WHEEL = {'position_m': [0.0, 0.0, -0.1], 'radius_m': 0.1, 'rolling_resistance': 0.02}


@pytest.mark.parametrize(('wheel', 'sentence'), [
    (WHEEL, 'f: wheels: one must be driven_by a motor, without rotors'),
    ({**WHEEL, 'driven_by': 'm', 'swivels': True},
     "f: wheels[0].driven_by = 'm': must be empty for a wheel that swivels"),
    ({**WHEEL, 'steering_base_m': -1.0},
     'f: wheels[0].steering_base_m = -1.0: must be at least 0 m'),
])
def test_wheels_that_cannot_be_are_refused(wheel, sentence):
    with pytest.raises(ParameterError) as error:
        Vehicle.from_mapping('f', {
            'name': 'x', 'px4_airframe': 1, 'motors': [MOTOR], 'wheels': [wheel],
            'body': {'mass_kg': 1.0, 'inertia_kg_m2': [0.1, 0.1, 0.1], 'linear_drag_n_s_m': 0.0,
                     'quadratic_drag_n_s2_m2': 0.0},
            'contact_model': {'stiffness_n_m': 1000.0, 'damping_n_s_m': 10.0,
                              'friction_coefficient': 0.7}})
    assert str(error.value) == sentence
