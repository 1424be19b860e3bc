# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which test shows an action on the truth, on the measurement or on what is sent: none is left out.

Each compares with a formula, or with the fields and numbers that MAVLink names.
"""
import ast
import functools
import pathlib

import pytest

from px4_sim_ros.model.faults.actions import ACTIONS

TESTS = pathlib.Path(__file__).resolve().parents[1]
SHOWN = {
    'model/test_motion_actions.py': {
        'motor_thrust': 'test_a_share_of_the_thrust_is_that_share_of_the_force',
        'motor_off': 'test_a_motor_without_power_runs_down_with_its_time_constant',
        'motor_stuck': 'test_a_motor_that_is_stuck_goes_on_as_before',
        'motor_slow': 'test_a_slow_motor_follows_exponentially',
        'replies_late': 'test_late_replies_are_those_of_a_while_ago',
        'replies_lost': 'test_lost_replies_leave_what_came_last',
        'push': 'test_a_push_is_force_over_mass',
        'torque': 'test_a_torque_is_what_turns_by_the_moments_of_inertia',
        'payload': 'test_a_payload_beside_the_centre_of_mass_moves_it',
        'battery_cells': 'test_shorted_cells_take_their_share_of_the_voltage',
        'battery_resistance': 'test_more_resistance_is_a_lower_voltage_under_load',
        'battery_capacity': 'test_half_the_capacity_is_empty_twice_as_fast',
        'wind': 'test_more_wind_comes_from_where_it_should',
        'gust': 'test_a_gust_is_one_pulse',
        'turbulence': 'test_turbulence_has_its_spread_and_its_time_constant',
        'air_density': 'test_thinner_air_carries_less_and_shows_less_airspeed'},
    'model/test_servo_actions.py': {
        'servo_stuck': 'test_a_servo_that_is_stuck_stays_at_the_angle_that_it_has_reached',
        'servo_hard_over': 'test_a_servo_runs_hard_over_at_its_rate_and_then_with_its_lag',
        'servo_slack': 'test_slack_is_the_play_operator'},
    'model/test_sensor_actions.py': {
        'sensor_off': 'test_a_sensor_that_is_off_measures_nothing',
        'sensor_frozen': 'test_a_sensor_that_is_frozen_repeats_its_last_measurement',
        'sensor_bias': 'test_a_bias_that_grows_reaches_its_value_along_a_line',
        'sensor_drift': 'test_a_drift_is_its_rate_times_its_age',
        'sensor_scale': 'test_a_scale_multiplies',
        'sensor_noise': 'test_noise_is_white_with_its_spread',
        'sensor_spikes': 'test_spikes_are_as_high_and_as_frequent_as_they_should_be',
        'sensor_delay': 'test_a_delay_repeats_the_last_measurement_and_then_lags',
        'sensor_axes': 'test_axes_change_places_and_signs',
        'gnss_denied': 'test_a_receiver_that_is_denied_has_no_fix_and_holds_the_last',
        'gnss_jammed': 'test_a_receiver_that_is_jammed_is_noisy_and_says_so',
        'gnss_spoofed': 'test_a_receiver_that_is_spoofed_is_led_along_the_path'},
    'link/test_autopilot_faults.py': {
        'autopilot_paused': 'test_a_pause_sends_nothing_and_goes_on_with_the_last_command',
        'autopilot_off': 'test_without_power_motors_get_nothing_until_another_one_replies'},
    'link/test_sticks.py': {
        'sticks': 'test_each_stick_has_its_axis_and_its_sign',
        'link_lost': 'test_the_pilot_sends_them_with_the_step_unless_the_link_is_lost'},
    'link/test_scenario_words.py': {
        'mode': 'test_a_mode_is_set_by_its_numbers',
        'command': 'test_a_command_has_its_number_its_parameters_and_zeros',
        'px4_failure': 'test_a_failure_within_px4_has_its_unit_its_type_and_its_instance'},
    'link/test_requests.py': {
        'parameter': 'test_a_parameter_is_set_with_the_type_that_it_has'},
    'model/test_scenario.py': {
        'clear': 'test_events_begin_and_end_when_they_should'},
    'flight/test_scenarios.py': {
        'note': 'test_a_scenario_that_holds_ends_with_code_0'},
}


# What the link does with a step of theirs, where the test has no action.
WORDS = {'autopilot_paused': 'is_off=False', 'autopilot_off': 'is_off=True'}


@functools.cache
def functions_of(file):
    tree = ast.parse((TESTS / file).read_text(encoding='utf-8'))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_action_is_left_out():
    assert sorted(name for shown in SHOWN.values() for name in shown) == sorted(ACTIONS)


@pytest.mark.parametrize(('file', 'action', 'name'), [
    (file, action, name) for file, shown in SHOWN.items() for action, name in shown.items()])
def test_each_is_shown_by_a_test_that_is_there(file, action, name):
    """It names the action, by its class or by its name in a file, and compares something."""
    test = functions_of(file)[name]
    text = ast.unparse(test)
    assert any(word in text for word in (
        WORDS.get(action, action), f'{ACTIONS[action].__name__}('))
    assert any(isinstance(node.test, (ast.Compare, ast.Call, ast.BoolOp))
               for node in ast.walk(test) if isinstance(node, ast.Assert))
