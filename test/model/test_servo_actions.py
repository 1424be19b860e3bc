# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What actions make of a servo, against what a formula says, on the plane."""
import dataclasses
import math

import numpy as np
import pytest

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Fault, FaultChain, Subject
from px4_sim_ros.model.faults.actions import read_action
from px4_sim_ros.model.faults.motion import BodyInputs
from px4_sim_ros.spec.files import load_vehicle

SINCE_US, STEP_US = 12_000_000, 4000


@pytest.fixture(scope='module')
def plane():
    """Return the plane on a bus that always has the nominal voltage."""
    return dataclasses.replace(load_vehicle('plane'), battery=None)


class Faulty:
    """The references of the plane, of which one action changes those of its elevator."""

    def __init__(self, world, plane, kind, before_rad, **values):
        self.chain, self.plane, self.time_us = FaultChain('dynamics', world, plane), plane, SINCE_US
        action = read_action('test', kind, {'servo': 'elevator', **values}, {})
        action.check('test', Subject(plane, ('dynamics',)))
        self.faults = (Fault('event', SINCE_US, action),)
        self.index = len(plane.rotors) + plane.actuator_indices['elevator']
        self.reached = [0.0] * plane.reference_count
        self.chain.of(SINCE_US - STEP_US, self.inputs(before_rad), ())

    def inputs(self, angle_rad):
        references = [0.1 * i for i in range(self.plane.reference_count)]
        references[self.index] = angle_rad
        return BodyInputs(tuple(references), self.reached)

    def __call__(self, angle_rad):
        """Return the references of the next step."""
        given = self.inputs(angle_rad)
        found = self.chain.of(self.time_us, given, self.faults).references_rad_s
        self.time_us += STEP_US
        others = set(range(len(found))) - {self.index}
        assert [found[i] for i in others] == [given.references_rad_s[i] for i in others]
        return found

    def angle(self, angle_rad):
        return self(angle_rad)[self.index]


@pytest.fixture
def faulty(world, plane):
    return lambda kind, before_rad=0.0, **values: Faulty(world, plane, kind, before_rad, **values)


def test_a_servo_that_is_stuck_stays_at_the_angle_that_it_has_reached(
        faulty, plane, build_dynamics):
    """Also in the midst of its way; from then on it does not move."""
    stuck, dynamics = faulty('servo_stuck', 0.3), build_dynamics(plane)
    asked = [0.0] * plane.reference_count
    asked[stuck.index] = 0.3
    for _ in range(3):
        dynamics.step(asked)
    stuck.reached = dynamics.reached
    reached = stuck.reached[stuck.index]
    assert 0.01 < reached < 0.29
    for angle in 0.4, -0.4, 0.0:
        references = stuck(angle)
        assert references[stuck.index] == reached
        assert dynamics.step((0.0, *references[1:])).servo_angles_rad[-1] == reached


@pytest.mark.parametrize(('side', 'sign'), [('positive', 1.0), ('negative', -1.0)])
def test_a_servo_runs_hard_over_at_its_rate_and_then_with_its_lag(
        faulty, plane, build_dynamics, side, sign):
    """At the highest rate as long as (travel - angle) / lag is above it, then exponentially."""
    names = [s.name for s in plane.servos]
    servo = plane.servos[names.index('elevator')]
    hard, dynamics = faulty('servo_hard_over', side=side), build_dynamics(plane)
    straight_rad = servo.travel_rad - servo.rate_rad_s * servo.lag_s
    straight_s = straight_rad / servo.rate_rad_s
    for k in range(1, 51):
        angle = dynamics.step(hard(0.0)).servo_angles_rad[names.index('elevator')]
        t = k * STEP_US / 1e6
        expected = servo.rate_rad_s * t if t <= straight_s else servo.travel_rad - (
            servo.travel_rad - straight_rad) * math.exp(-(t - straight_s) / servo.lag_s)
        assert angle == pytest.approx(sign * expected, abs=2e-4)


def test_slack_is_the_play_operator(faulty):
    """Rising half the play behind, falling half before it; after a turn it stands still so long."""
    play = math.radians(6.0)
    slack = faulty('servo_slack', play_deg=6.0)
    asked = 0.2 * np.sin(np.linspace(0.0, 6.0 * np.pi, 6001))
    found = np.array([slack.angle(angle) for angle in asked])[1000:]      # once it was at a turn
    asked = asked[1000:]
    assert found.max() == pytest.approx(0.2 - play / 2) and found.min() == pytest.approx(
        -0.2 + play / 2)
    moved = np.diff(found)
    rising, falling = moved > 0, moved < 0
    assert asked[1:][rising] - found[1:][rising] == pytest.approx(play / 2)
    assert asked[1:][falling] - found[1:][falling] == pytest.approx(-play / 2)
    still = np.abs(moved) == 0.0
    # Within the play after each turn: A (1 - cos p) = play.
    share = math.acos(1.0 - play / 0.2) / np.pi
    assert still.mean() == pytest.approx(share, rel=0.01)


def test_a_servo_that_is_not_there_is_named(plane):
    action = read_action('test', 'servo_stuck', {'servo': 'elevatr'}, {})
    with pytest.raises(ParameterError) as refused:
        action.check('test', Subject(plane, ('dynamics',)))
    assert str(refused.value) == (
        "test.servo = 'elevatr': there is no such servo; did you mean elevator; plane has rudder,"
        ' left_aileron, right_aileron, elevator')
