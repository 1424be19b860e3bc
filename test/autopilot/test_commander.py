# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commander: what is refused, and from arming to disarming."""
from __future__ import annotations

import math

import pytest

from px4_sim_ros.autopilot import commander as module
from px4_sim_ros.autopilot.commander import Commander, Mode
from px4_sim_ros.autopilot.memory import constants_of, new_memory

DT = 0.02
IDLE = (0.0,) * 16


class StubController:
    """Remembers what it is asked; the test says how much thrust that takes."""

    thrust_fraction = 1.0
    target = velocity = yaw = is_level = None

    def velocity_to(self, c, target, position):
        """Remember the target."""
        self.target = target
        return 0.1, 0.2, 0.3

    def command(self, m, c, velocity, yaw, dt, is_level):
        """Remember velocity, yaw, and whether it is to be level."""
        self.velocity, self.yaw, self.is_level = velocity, yaw, is_level
        m.controls[:4], m.thrust_fraction = (0.5, 0.6, 0.7, 0.8), self.thrust_fraction


class SteppedCommander(Commander):
    """A commander that the test steps."""

    def __init__(self, m, c) -> None:
        super().__init__(m, c)
        self._c = c

    def controls(self, dt):
        """Return the controls for a step."""
        module.control(self._m, self._c, dt)
        return tuple(self._m.controls.tolist())


@pytest.fixture
def m():
    """Return the record of an autopilot that is aligned, at rest at a place."""
    m = new_memory()[0]
    m.aligned, m.position_m[:] = True, (1.0, 2.0, 0.1)
    m.attitude[:] = math.cos(0.25), 0.0, 0.0, math.sin(0.25)      # heading 0.5 rad
    return m


@pytest.fixture
def control(monkeypatch):
    """Return the stub, hovering; the law of the commander calls it, as plain Python."""
    control = StubController()
    for name in ('control', '_watch_ground', 'disarm', 'vector'):
        function = getattr(module, name)
        monkeypatch.setattr(module, name, getattr(function, '__wrapped__', function))
    monkeypatch.setattr(module, 'velocity_to', control.velocity_to)
    monkeypatch.setattr(module, 'command', control.command)
    return control


@pytest.fixture
def commander(gains, iris, m, control):
    """Return a commander that stands by."""
    gains = gains | {
        'commander': {
            'landing_speed_m_s': 0.7, 'landed_thrust_fraction': 0.65, 'landed_time_s': 0.5,
            'disarm_delay_s': 1.0, 'arming_timeout_s': 10.0},
        'controller': gains['controller'] | {'max_descent_speed_m_s': 3.0}}
    return SteppedCommander(m, constants_of(iris, gains)[0])


def run(commander, seconds):
    """Step for a while and return the last controls."""
    for _ in range(round(seconds / DT)):
        controls = commander.controls(DT)
    return controls


def fly(commander, control):
    """Bring it into the air."""
    assert (commander.take_off(10.0), commander.arm()) == ('', '')
    control.thrust_fraction = 1.2
    commander.controls(DT)
    assert commander.in_air


def test_nothing_before_the_estimator_is_aligned(commander, m):
    """Each refusal says why."""
    m.aligned = False
    assert commander.arm() == commander.take_off(5.0) == 'the estimator is not aligned yet'
    assert commander.go_to((0.0, 0.0, 5.0), 0.0) == commander.land() == 'not flying'
    assert not commander.armed
    assert commander.controls(DT) == IDLE


def test_disarmed_means_no_controls(commander):
    """Also after a take-off was asked for."""
    assert commander.controls(DT) == IDLE
    assert commander.take_off(5.0) == ''
    assert commander.controls(DT) == IDLE
    assert not commander.armed


def test_armed_rotors_idle_until_the_arming_timeout(commander):
    """No take-off follows: it disarms."""
    assert commander.arm() == ''
    assert run(commander, 9.9) == IDLE
    assert commander.armed
    run(commander, 0.2)
    assert not commander.armed
    # The time counts from each arming.
    assert commander.arm() == ''
    run(commander, 9.9)
    assert commander.armed


@pytest.mark.parametrize('arm_first', [True, False])
def test_take_off(commander, control, arm_first):
    """Straight up, with the heading that it has, in either order."""
    steps = (commander.arm, lambda: commander.take_off(10.0))
    for step in steps if arm_first else reversed(steps):
        assert step() == ''
    assert commander.controls(DT) == (0.5, 0.6, 0.7, 0.8) + (0.0,) * 12
    assert control.target == (1.0, 2.0, 10.0)
    assert control.velocity == (0.1, 0.2, 0.3)
    assert control.yaw == pytest.approx(0.5)
    assert not commander.in_air
    control.thrust_fraction = 1.01
    commander.controls(DT)
    assert commander.in_air
    assert run(commander, 20.0) != IDLE      # no arming timeout in the air
    assert commander.armed


def test_arming_forgets_the_integral_once(commander, control, m):
    """Not again in the air."""
    m.integral_m_s2[:] = 1.0
    fly(commander, control)
    assert not m.integral_m_s2.any()
    m.integral_m_s2[:] = 1.0
    assert commander.arm() == ''
    assert m.integral_m_s2.all()


def test_go_to(commander, control):
    """To a place, with a heading or with the one that it has."""
    assert commander.go_to((5.0, 6.0, 7.0), 1.0) == 'not flying'
    fly(commander, control)
    assert commander.go_to((5.0, 6.0, 7.0), 1.0) == ''
    commander.controls(DT)
    assert (control.target, control.yaw) == ((5.0, 6.0, 7.0), 1.0)
    assert commander.go_to((8.0, 6.0, 7.0), math.nan) == ''
    commander.controls(DT)
    assert (control.target, control.yaw) == ((8.0, 6.0, 7.0), 1.0)


def test_disarm_on_the_ground_only(commander, control):
    """In the air it is refused."""
    assert commander.arm() == commander.disarm() == ''
    assert not commander.armed
    fly(commander, control)
    assert commander.disarm() == 'not while flying'
    assert commander.armed


def test_landing(commander, control, m):
    """Down where it is, until little thrust is needed for a while; then it disarms."""
    assert commander.land() == 'not flying'
    fly(commander, control)
    m.position_m[:] = 3.0, 4.0, 9.0
    assert commander.land() == ''
    control.thrust_fraction, m.velocity_m_s[:] = 0.9, (0.0, 0.0, -0.7)
    run(commander, 5.0)
    assert control.target == (3.0, 4.0, 9.0)
    assert control.velocity == (0.1, 0.2, -0.7)
    assert commander.in_air
    control.thrust_fraction = 0.6
    run(commander, 0.4)
    assert commander.in_air
    run(commander, 0.2)
    assert not commander.in_air and commander.armed
    run(commander, 0.8)
    assert commander.armed
    assert run(commander, 0.2) == IDLE
    assert (commander.armed, commander.mode) == (False, Mode.STANDBY)


def test_on_the_ground_it_is_level_and_presses(commander, control, m):
    """As soon as it has not sunk for a while; in an upward gust it goes on afterwards."""
    fly(commander, control)
    assert commander.land() == ''
    for vertical_speed, stands in ((-0.7, False), (-0.3, True), (-0.4, False), (0.3, True),
                                   (0.4, False)):
        m.velocity_m_s[:] = (0.5, 0.0, vertical_speed)
        run(commander, 0.48)
        assert not control.is_level
        run(commander, 0.06)
        assert control.is_level == stands
        assert control.velocity == (0.1, 0.2, -3.0 if stands else -0.7)
        m.velocity_m_s[:] = (0.0, 0.0, -0.7)
        run(commander, DT)
    assert commander.in_air


def test_a_gust_is_no_landing(commander, control):
    """The low thrust has to last."""
    fly(commander, control)
    commander.land()
    for _ in range(20):
        control.thrust_fraction = 0.5
        run(commander, 0.4)
        control.thrust_fraction = 0.8
        run(commander, 0.02)
    assert commander.in_air


def test_a_landing_can_be_called_off(commander, control):
    """By the next place to fly to."""
    fly(commander, control)
    commander.land()
    assert commander.go_to((0.0, 0.0, 9.0), math.nan) == ''
    control.thrust_fraction = 0.5
    run(commander, 5.0)
    assert commander.mode is Mode.HOLD and commander.armed


@pytest.mark.parametrize('height_m', [-5.0, 0.0, math.nan])
def test_a_take_off_that_is_none_does_not_stay_armed(height_m, commander, control):
    """Nothing lifts off, so the arming timeout holds."""
    assert commander.take_off(height_m) == 'the altitude is not above the vehicle'
    assert commander.arm() == ''
    control.thrust_fraction = 0.6
    run(commander, 30.0)
    assert not commander.armed
