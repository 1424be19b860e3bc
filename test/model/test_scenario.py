# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions, expectations and the course of a scenario, on motions that are known."""
import ast
import functools
import math
import pathlib

import pytest

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.faults.action import Subject
from px4_sim_ros.model.faults.actions import ACTIONS
from px4_sim_ros.model.scenario.condition import read_condition, rounded
from px4_sim_ros.model.scenario.course import Course
from px4_sim_ros.model.scenario.scenario import Scenario
from px4_sim_ros.model.scenario.situation import Answer, AutopilotState, Situation
from px4_sim_ros.model.truth import BatteryStatus, Truth

STEP_US = 4000
NOTHING = (0.0, 0.0, 0.0)


def truth(time_us, height_m=0.0, tilt_deg=0.0, east_m=0.0, climb_m_s=0.0, north_m=0.0):
    half = math.radians(0.5 * tilt_deg)
    return Truth(time_us, (east_m, north_m, height_m), (math.cos(half), math.sin(half), 0.0, 0.0),
                 (0.0, 0.0, climb_m_s), NOTHING, NOTHING, NOTHING, (), ())


def situation(time_s=0.0, autopilot=None, begun_us=None, battery=None, **motion):
    time_us = round(time_s * 1e6)
    return Situation(time_us, truth(time_us, **motion), NOTHING, battery,
                     autopilot or AutopilotState(), begun_us or {})


def look(content, s):
    return read_condition('test', content, ['one']).look(s)


@pytest.mark.parametrize(('content', 'margin'), [
    ({'height_m': {'above': 4}}, 1.0), ({'height_m': {'below': 4.5}}, -0.5),
    ({'height_m': {'above': 4, 'below': 5.25}}, 0.25), ({'tilt_deg': {'below': 30}}, 10.0),
    ({'climb_m_s': {'above': 1.0}}, 2.0 * math.cos(math.radians(20)) - 1.0),
    ({'speed_m_s': {'below': 3}}, 1.0), ({'distance_m': {'below': 10}}, 7.0),
    ({'east_m': {'below': -5}}, -2.0), ({'time_s': {'above': 6}}, 1.5),
    ({'charge': {'above': 0.4}}, 0.1), ({'voltage_v': {'below': 16}}, 1.0),
    ({'age_s': {'event': 'one', 'above': 2}}, 3.5)])
def test_a_margin_is_how_far_a_number_is_from_its_bound(content, margin):
    found = look(content, situation(
        7.5, begun_us={'one': 2_000_000}, battery=BatteryStatus(0, 15.0, 1.0, 2.0, 4.0, 4.0),
        height_m=5.0, tilt_deg=20.0, east_m=-3.0, climb_m_s=2.0))
    assert (found.margin, found.holds) == (pytest.approx(margin), margin > 0)


@pytest.mark.parametrize(('content', 'holds'), [
    ({'mode': 'AUTO_LAND'}, True), ({'mode': 'AUTO_RTL'}, False), ({'armed': True}, True),
    ({'landed': True}, False), ({'failsafe': False}, True), ({'text': 'landing'}, True),
    ({'text': 'taking off'}, False), ({'items': {'above': 1.5}}, True), ({'flown': True}, False),
    ({'armed': True, 'height_m': {'above': 1}}, False),
    ({'armed': True, 'height_m': {'below': 1}}, True),
    ({'age_s': {'event': 'one', 'above': 0}}, False),
    ({'charge': {'above': 0}}, False)])
def test_what_the_autopilot_says_holds_or_does_not(content, holds):
    state = AutopilotState('AUTO_LAND', armed=True, landed=False, items=2,
                           texts=('it is landing now',))
    assert look(content, situation(autopilot=state)).holds is holds


@pytest.mark.parametrize(('content', 'margin'), [
    ({'estimated_height_m': {'above': 4}}, 0.5), ({'estimate_error_m': {'below': 2}}, 0.7)])
def test_the_estimate_is_compared_with_the_truth_from_the_start_on(content, margin):
    """It has moved by (0, 1.2, 4.5), and in truth by (0, 0, 5)."""
    state = AutopilotState(moved_enu=(0.0, 1.2, 4.5))
    assert look(content, situation(autopilot=state, height_m=5.0)).margin == pytest.approx(margin)
    assert not look(content, situation(height_m=5.0)).holds        # not known


def flown(motion, expect, events=(), end=None, seconds=2.0, autopilot=AutopilotState,
          says=('', 0.0), north_m=0.0, battery=lambda t: None):
    """Return verdicts and what was done in a flight with a motion given by the time in s.

    :param says: a text of the autopilot, and when it comes
    """
    done = []
    scenario = Scenario.from_mapping('test', 'test', {
        'events': list(events), 'expect': expect, 'end': end or {'at_s': 1000}})
    course = Course(scenario, done.append)
    for k in range(1, round(seconds * 1e6 / STEP_US) + 1):
        time_us = k * STEP_US
        state = autopilot()
        if time_us == round(says[1] * 1e6):
            state = state._replace(texts=says[:1])
        course.step(time_us, truth(time_us, north_m=north_m, **motion(time_us * 1e-6)),
                    battery(time_us * 1e-6), state)
        if course.is_over:
            break
    return course.verdicts(), done, course


def asked(answers, seconds, **more):
    """Return the texts of verdicts and happenings on a command that is given at 1 s.

    :param answers: of the autopilot, and when, in s
    """
    def say():
        time_us = steps[0] = steps[0] + STEP_US
        return AutopilotState(answers=tuple(
            Answer('c', refusal) for at_s, refusal in answers if round(at_s * 1e6) == time_us))
    steps = [0]
    verdicts, done, _ = flown(lambda t: {}, [], [
        {'name': 'c', 'at_s': 1, 'command': {'command': 'MAV_CMD_DO_WINCH'}, **more}],
        seconds=seconds, autopilot=say)
    return [v.text for v in verdicts], [h.text for h in done]


COMMAND = 'c: command: command MAV_CMD_DO_WINCH'


def test_an_event_that_was_taken_needs_no_verdict():
    assert asked([(1.02, '')], 2.0) == ([], [COMMAND])


def test_an_event_that_was_refused_fails_the_flight():
    verdicts, done = asked([(1.02, 'MAV_RESULT_DENIED')], 2.0)
    assert verdicts == [f'the autopilot takes event {COMMAND}: fails at t = 1.020000 s:'
                        ' MAV_RESULT_DENIED']
    assert done == [COMMAND, 'c is refused: MAV_RESULT_DENIED']


@pytest.mark.parametrize(('answers', 'verdict'), [
    ([(1.02, 'MAV_RESULT_DENIED')], 'holds at t = 1.020000 s: MAV_RESULT_DENIED'),
    ([(1.02, '')], 'fails at t = 1.020000 s: the autopilot has taken it'),
    ([], 'holds: the autopilot has not answered by the end of the flight')])
def test_an_event_may_be_expected_to_be_refused(answers, verdict):
    assert asked(answers, 2.1, refused=True)[0] == [
        f'the autopilot refuses event {COMMAND}: {verdict}']


def test_what_is_not_answered_at_the_end_was_refused_if_there_was_a_second_for_it():
    assert asked([], 1.9)[0] == []
    assert asked([], 2.1)[0] == [
        f'the autopilot takes event {COMMAND}: fails: the autopilot has not answered by the end'
        ' of the flight']


def climb(t):
    """Climb with 1 m/s."""
    return {'height_m': t, 'climb_m_s': 1.0}


@pytest.mark.parametrize(('expectation', 'holds', 'margin', 'time_s', 'extreme_s'), [
    # The height over the start, which is that of the first step.
    ({'always': {'height_m': {'below': 5}}}, True, 5 - 1.996, 2.0, 2.0),
    ({'always': {'height_m': {'below': 1}}}, False, 1 - 1.996, 1.004, 2.0),
    ({'never': {'height_m': {'above': 3}}}, True, 3 - 1.996, 2.0, 2.0),
    ({'never': {'height_m': {'above': 1}}}, False, 1 - 1.996, 1.008, 2.0),
    ({'eventually': {'height_m': {'above': 1}}}, True, 1.996 - 1, 1.008, 2.0),
    ({'eventually': {'height_m': {'above': 1}}, 'within_s': 1.5}, True, 1.5 - 1, 1.008, 1.504),
    ({'eventually': {'height_m': {'above': 1}}, 'within_s': 0.5}, False, 0.5 - 1.0, 0.504, 0.504),
    ({'always': {'height_m': {'below': 1}}, 'until': {'height_m': {'above': 0.9}}}, True,
     1 - 0.9, 0.904, 0.904),
    ({'always': {'height_m': {'below': 1}}, 'until': {'height_m': {'above': 1.2}}}, False,
     1 - 1.2, 1.004, 1.204),
    ({'always': {'height_m': {'below': 1}}, 'until': {'height_m': {'above': 9}}}, False,
     1 - 1.996, 1.004, 2.0),
    ({'always': {'height_m': {'below': 8}}, 'until': {'height_m': {'above': 9}}}, False, None,
     None, None),
    ({'always': {'height_m': {'above': 1}}, 'from_s': 1.5}, True, 0.496, 1.5, 1.5),
    ({'always': {'height_m': {'above': 1}}, 'from_s': 0.5}, False, 0.496 - 1, 0.5, 0.5),
    ({'always': {'height_m': {'below': 1.4}}, 'after': {'height_m': {'above': 1}},
      'within_s': 0.2}, True, 1.4 - 1.204, 1.208, 1.208),
    ({'always': {'height_m': {'below': 1.11}}, 'after': {'height_m': {'above': 1}},
      'within_s': 0.2}, False, 1.11 - 1.204, 1.116, 1.208),
    ({'always': {'height_m': {'below': 1}}, 'after': {'armed': True}}, True, None, None, None),
    ({'eventually': {'height_m': {'above': 1}}, 'after': {'armed': True}}, False, None, None,
     None),
    # Several conditions: of all the nearest to its bound; `never` asks that one does not hold.
    ({'always': {'height_m': {'below': 1}, 'climb_m_s': {'below': 1.5}}}, False, 1 - 1.996, 1.004,
     2.0),
    ({'never': {'height_m': {'above': 1}, 'climb_m_s': {'above': 1.25}}}, True, 0.25, 0.756, 0.756),
    ({'eventually': {'height_m': {'above': 1.5}, 'climb_m_s': {'above': 0.75}}}, True, 0.25, 1.508,
     1.756),
    # A part that is yes or no decides whether it holds; how bad it got is that of the other.
    ({'always': {'height_m': {'below': 1}, 'armed': False}}, False, 1 - 1.996, 1.004, 2.0),
    ({'always': {'height_m': {'below': 5}, 'armed': True}}, False, None, 0.004, 0.004),
    ({'never': {'height_m': {'above': 1}, 'armed': True}}, True, None, 0.004, 0.004),
    # Yes or no, and a time: what is left of it.
    ({'eventually': {'text': 'here'}, 'from_s': 1.0, 'within_s': 0.75}, True, 0.25, 1.5, 1.5),
    ({'eventually': {'text': 'here'}, 'from_s': 1.0, 'within_s': 0.25}, False, -0.25, 1.248,
     1.248),
    ({'eventually': {'text': 'there'}, 'within_s': 1.5}, False, None, 1.504, 1.504),
    ({'eventually': {'text': 'there'}, 'until': {'height_m': {'above': 1}}}, False, None, 1.004,
     1.004),
    ({'eventually': {'armed': True, 'height_m': {'above': 9}}}, False, None, 2.0, 2.0),
    ({'eventually': {'text': 'here'}}, True, None, 1.5, 1.5),
])
def test_an_expectation_is_judged_with_its_time_and_its_extreme(
        expectation, holds, margin, time_s, extreme_s):
    """A climb with 1 m/s for 2 s, in which the autopilot says `here` at 1.5 s."""
    (verdict,), _, _ = flown(climb, [expectation], says=('here', 1.5))
    assert verdict.holds is holds, verdict.text
    if margin is None:
        assert verdict.margin is None
    else:
        assert verdict.margin == pytest.approx(margin, abs=1e-9)
        assert (margin > 0) is holds
    assert (verdict.time_s, verdict.extreme_us) == (
        time_s, None if extreme_s is None else round(extreme_s * 1e6))


@pytest.mark.parametrize(('expectation', 'holds', 'margin', 'time_s'), [
    ({'always': {'charge': {'above': 0.5}}}, True, 0.25, 2.0),
    ({'always': {'charge': {'above': 0.8003}}}, False, -0.0503, 1.6),
    ({'always': {'charge': {'above': 0.5}, 'height_m': {'above': -1}}}, True, 0.25, 2.0),
    ({'always': {'charge': {'above': 0.8003}}, 'within_s': 1.5}, True, 0.0117, 1.504),
    ({'always': {'estimated_height_m': {'above': -1}}}, False, None, 2.0),
    ({'never': {'charge': {'below': 0.8003}}}, False, -0.0503, 1.6)])
def test_what_is_not_known_yet_is_not_judged(expectation, holds, margin, time_s):
    """A charge that falls by an eighth a second, with its first status at 0.02 s; no estimate."""
    (verdict,), _, _ = flown(lambda t: {}, [expectation], battery=lambda t: (
        BatteryStatus(0, 15.0, 1.0, 4.0 - t / 2, 4.0, 4.0) if t > 0.019 else None))
    assert (verdict.holds, verdict.time_s) == (holds, time_s), verdict.text
    assert verdict.margin == (None if margin is None else pytest.approx(margin, abs=1e-3))


def tumble(most_deg):
    """Tilt up to `most_deg` at 1 s and back, as a sine."""
    return lambda t: {'tilt_deg': most_deg * math.sin(math.pi * t / 2)}


def test_how_bad_it_got_orders_the_flights_and_not_when_it_began():
    """Of flights that all exceed 40 deg: their greatest tilt."""
    told = {}
    for most_deg in 179, 40.2, 52, 138:
        (verdict,), _, _ = flown(tumble(most_deg), [{'always': {'tilt_deg': {'below': 40}}}])
        assert verdict.margin == pytest.approx(40 - most_deg, abs=1e-9)
        assert verdict.extreme_us == 1_000_000 and not verdict.holds
        # sin(pi t / 2) = 40 / most
        first_s = math.asin(40 / most_deg) / (math.pi / 2)
        assert verdict.time_s == pytest.approx(first_s, abs=0.004) and verdict.time_s >= first_s
        told[most_deg] = verdict.margin
    assert sorted(told, key=told.__getitem__) == [179, 138, 52, 40.2]


def test_a_margin_is_of_what_was_flown():
    """The flight ends before its greatest tilt."""
    (verdict,), _, course = flown(
        tumble(100), [{'always': {'tilt_deg': {'below': 40}}}],
        end={'when': {'tilt_deg': {'above': 40}}})
    assert course.is_over and verdict.margin == pytest.approx(0.0, abs=0.7)
    assert verdict.time_us == course.situation.time_us


@pytest.mark.parametrize(('expectation', 'text'), [
    ({'always': {'height_m': {'below': 1.5}}},
     'always height_m below 1.5: fails at t = 1.504000 s: height_m is 1.5 m; at worst, height_m is'
     ' 1.996 m at t = 2.000000 s, margin -0.496 m'),
    ({'always': {'height_m': {'below': 3}}},
     'always height_m below 3: holds at t = 2.000000 s: height_m is 1.996 m, margin 1.004 m'),
    ({'eventually': {'height_m': {'above': 1}}, 'within_s': 1.5},
     'eventually height_m above 1 within 1.5 s: holds at t = 1.008000 s: height_m is 1.004 m;'
     ' 0.496 s left; at best, height_m is 1.5 m at t = 1.504000 s, margin 0.5 m'),
    ({'eventually': {'height_m': {'above': 1}}, 'within_s': 0.5},
     'eventually height_m above 1 within 0.5 s: fails at t = 0.504000 s: condition not met; at'
     ' best, height_m is 0.5 m; met 0.504 s late, margin -0.5 m'),
    ({'eventually': {'north_m': {'above': 1}}},
     'eventually north_m above 1: fails at t = 0.004000 s: condition not met; at best, north_m is 0'
     ' m, margin -1 m')])
def test_a_verdict_is_a_sentence_with_times_values_and_bound(expectation, text):
    (verdict,), _, _ = flown(climb, [expectation], north_m=-1.64458e-26)
    assert verdict.text == text


@pytest.mark.parametrize(('value', 'text'), [
    (-1.64458e-26, '0'), (0.0004, '0'), (-0.0006, '-0.001'), (40.2, '40.2'), (1.9999, '2'),
    (-139.99999999, '-140'), (100 / 3, '33.333'), (123456.789, '123457'), (1e9, '1e+09')])
def test_numbers_are_rounded_as_a_person_would(value, text):
    assert rounded(value) == text


EVENTS = [
    {'name': 'one', 'at_s': 0.5, 'for_s': 0.25, 'motor_off': {'motor': 1}},
    {'name': 'two', 'when': {'height_m': {'above': 1}}, 'payload': {'mass_kg': -0.1}},
    {'name': 'three', 'when': {'age_s': {'event': 'two', 'above': 0.4}}, 'clear': {'event': 'two'}},
    {'name': 'four', 'at_s': 0.6, 'command': {'command': 'MAV_CMD_NAV_LAND'}},
    {'name': 'five', 'at_s': 0.7, 'note': {'text': 'so far so good'}}]


def test_events_begin_and_end_when_they_should():
    _, done, course = flown(climb, [], EVENTS)
    assert [(round(h.time_us * 1e-6, 6), h.text) for h in done] == [
        (0.5, 'one: motor_off: motor 1'), (0.6, 'four: command: command MAV_CMD_NAV_LAND'),
        (0.7, 'so far so good'), (0.752, 'one ends') if 0.75 % 0.004 else (0.75, 'one ends'),
        (1.008, 'two: payload: mass_kg -0.1'), (1.412, 'three: clear: event two'),
        (1.412, 'two ends')]
    assert course.faults == ()


def test_what_is_in_force_is_the_same_object_while_nothing_changes():
    """So blocks need not look at it in each step."""
    scenario = Scenario.from_mapping('test', 'test', {'events': EVENTS[:1], 'end': {'at_s': 9}})
    course = Course(scenario, lambda happening: None)
    found = [course.step(k * STEP_US, truth(k * STEP_US), None, AutopilotState())
             for k in range(1, 250)]
    assert len({id(faults) for faults in found}) <= 3
    assert [len(faults) for faults in (found[123], found[124], found[186], found[188])] == [
        0, 1, 1, 0]


def test_a_command_is_in_force_for_one_step():
    _, _, course = flown(climb, [], EVENTS[3:4], seconds=0.6)
    assert [fault.name for fault in course.faults] == ['four']
    _, _, course = flown(climb, [], EVENTS[3:4], seconds=0.604)
    assert course.faults == ()


@pytest.mark.parametrize(('end', 'time_s'), [
    ({'at_s': 1.0}, 1.0), ({'when': {'height_m': {'above': 0.5}}}, 0.508),
    ({'at_s': 0.3, 'when': {'height_m': {'above': 0.5}}}, 0.3)])
def test_a_flight_ends_at_its_time_or_by_its_condition(end, time_s):
    _, _, course = flown(climb, [], end=end)
    assert course.is_over and course.situation.time_us == round(time_s * 1e6)


def test_without_an_end_it_is_that_of_the_mission():
    scenario = Scenario.from_mapping('test', 'test', {})
    course = Course(scenario, lambda happening: None)
    for is_over in False, True:
        course.step(STEP_US, truth(STEP_US), None, AutopilotState(is_over=is_over))
        assert course.is_over is is_over


@pytest.mark.parametrize(('content', 'sentence'), [
    ([], 'test: must be a mapping'), ({'event': []}, "unknown parameter; did you mean events"),
    ({'events': [{'at_s': 1}]}, 'events[0] = {\'at_s\': 1}: must hold one action'),
    ({'events': [{'motor_off': {'motor': 1}}]}, 'events[0]: must hold either at_s or when'),
    ({'events': [{'at_s': 1, 'motor_of': {}}]}, "'motor_of' is no action; did you mean motor_off"),
    ({'events': [{'at_s': 1, 'motor_off': {}}]}, 'events[0].motor_off.motor: missing; it is'),
    ({'events': [{'at_s': -1, 'motor_off': {'motor': 1}}]}, 'events[0].at_s = -1: must be at'),
    ({'events': [{'at_s': 1e-7, 'motor_off': {'motor': 1}}]}, 'whole number of microseconds'),
    ({'events': [{'at_s': 1, 'sensor_delay': {'sensor': 'gps', 'delay_s': 0.12345678}}]},
     'delay_s = 0.12345678: must be a whole number of microseconds'),
    ({'events': [{'at_s': 1, 'replies_late': {'delay_s': 0.12345678}}]},
     'delay_s = 0.12345678: must be a whole number of microseconds'),
    ({'events': [{'at_s': 1, 'for_s': 2, 'note': {'text': 'x'}}]}, 'note is done at once'),
    ({'events': [{'at_s': 1, 'clear': {'event': 'nobody'}}]}, 'there is no such event'),
    ({'events': [{'when': {'height': {'above': 1}}, 'gnss_denied': None}]}, 'mean height_m'),
    ({'events': [{'when': {'height_m': 5}, 'gnss_denied': None}]}, 'must be a mapping of above'),
    ({'expect': [{'allways': {}}]}, 'must hold one of always, never, eventually'),
    ({'expect': [{'always': {'armed': 'yes'}}]}, "armed = 'yes': must be true or false"),
    ({'actions': {'mine': 'nothing'}}, "actions.mine = 'nothing': must be module:Class"),
    ({'actions': {'mine': 'math:pi'}}, 'must be derived from'),
    ({'actions': {'mine': 'no.such:Class'}}, 'cannot be imported: No module'),
    ({'actions': {'mine': '.none:Class'}}, 'cannot be imported: TypeError: '),
    ({'end': {}}, 'must be a mapping of at_s, or when, or both'),
    ({'seed': 1, 'mission': [{'land': {}}]}, 'must begin with take_off'),
    ({'vehicle': 7}, 'vehicle = 7: must be a text'), ({'px4': {'X': 'a'}}, 'px4.X = '),
])
def test_what_is_wrong_is_named_with_its_place(content, sentence):
    with pytest.raises(ParameterError) as refused:
        Scenario.from_mapping('test', 'test', content)
    assert sentence in str(refused.value) and '\n' not in str(refused.value)


def test_a_flight_whose_end_never_comes_ends_a_minute_after_its_mission():
    """Whether the mission was flown or has failed; it is a verdict that does not hold."""
    for failure in '', 'the vehicle has not landed':
        verdicts, _, course = flown(
            climb, [{'always': {'tilt_deg': {'below': 10}}}], end={'when': {'height_m': {
                'above': 1000}}}, seconds=70.0,
            autopilot=functools.partial(AutopilotState, is_over=True, failure=failure))
        assert course.is_over and [verdict.holds for verdict in verdicts] == [True, False]
        assert verdicts[1].time_us == 60_004_000
        assert verdicts[1].text == (
            'end when height_m above 1000: fails at t = 60.004000 s: condition not met within'
            ' 60 s after the end of the mission')


def test_a_flight_with_a_time_of_its_end_goes_on_until_then():
    _, _, course = flown(climb, [], end={'at_s': 65, 'when': {'height_m': {'above': 1000}}},
                         seconds=70.0, autopilot=lambda: AutopilotState(is_over=True))
    assert course.situation.time_us == 65_000_000


@pytest.mark.parametrize(('condition', 'has_scene', 'collides', 'allowed'), [
    ({'contact': True}, False, False, False), ({'contact': True}, True, False, True),
    ({'contact': False}, False, True, True),
    ({'clearance_m': {'below': 1}}, False, True, False)])
def test_what_can_be_touched_has_to_be_there(condition, has_scene, collides, allowed):
    """Objects of a scene, or others of a fleet that collide."""
    scenario = Scenario.from_mapping('test', 'test', {
        'expect': [{'never': condition}], 'end': {'at_s': 1}})
    subject = Subject(None, ('pilot',), has_scene, collides=collides)
    if allowed:
        scenario.check(subject, 'test')
        return
    with pytest.raises(ParameterError) as refused:
        scenario.check(subject, 'test')
    name, = condition
    assert str(refused.value) == (
        f'test: {name}: there is no scene; name one, as in scene: street')


# Those of a link are given by name in the words of their tests.
LINK_WORDS = {'autopilot_paused': 'is_off=False', 'autopilot_off': 'is_off=True'}


@functools.cache
def texts_that_compare():
    """Return the texts of all tests of models, links and flights in which something is compared."""
    return [ast.unparse(node) for folder in ('model', 'link', 'flight')
            for path in pathlib.Path(__file__).parents[1].joinpath(folder).glob('test_*.py')
            for node in ast.parse(path.read_text(encoding='utf-8')).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith('test_') and any(
                isinstance(its, ast.Assert) for its in ast.walk(node))]


@pytest.mark.parametrize('action', ACTIONS)
def test_each_action_is_shown_by_a_test(action):
    """It names the action, by its class or by its name in a file."""
    words = LINK_WORDS.get(action, f"'{action}'"), f'{ACTIONS[action].__name__}('
    assert any(word in text for word in words for text in texts_that_compare())
