# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The run status: its texts in a DiagnosticStatus, and back."""
import dataclasses

import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from px4_sim_ros.messages.run_status import RunState, RunStatus
from px4_sim_ros.step.repeatability import Gap

STATUS = RunStatus(
    RunState.OVERDUE, 'imu does not answer', 2, 3, 2, 'active', 3001, 12_004_000, 6.5, 1.847, 2.0,
    0.25, 0.125)
TEXTS = {
    'state': 'OVERDUE', 'run': '3', 'resets': '2', 'lifecycle': 'active', 'steps': '3001',
    'sim_time_s': '12.004000', 'wall_time_s': '6.500000', 'real_time_factor': '1.847',
    'speed_factor': '2', 'paced_s': '0.250000', 'busy_s': '0.125000'}


def message(texts, sentence='', level=DiagnosticStatus.OK):
    return DiagnosticStatus(level=level, message=sentence, values=[
        KeyValue(key=key, value=text) for key, text in texts.items()])


def test_the_texts_of_a_status():
    assert STATUS.values() == TEXTS


def test_a_status_is_read_as_it_was_written():
    assert RunStatus.of(message(TEXTS, STATUS.sentence, DiagnosticStatus.ERROR)) == STATUS


def test_reasons_are_there_when_there_are_some():
    status = dataclasses.replace(
        STATUS, unrecorded='the disk was full', unasked='a signal has come',
        gap=Gap(4000, 'imu was stopped by hand'))
    assert status.values() == TEXTS | {
        'unrecorded': 'the disk was full', 'unasked': 'a signal has come',
        'gap': 'imu was stopped by hand', 'gap_us': '4000'}
    assert RunStatus.of(message(status.values(), STATUS.sentence, DiagnosticStatus.ERROR)) == status


def test_values_that_are_not_there_are_none():
    status = RunStatus.of(message({'state': 'STARTING'}))
    assert (status.sim_time_us, status.sim_time_s, status.real_time_factor) == (None,) * 3
    assert status.values() == {
        'state': 'STARTING', 'run': '0', 'resets': '0', 'lifecycle': '', 'steps': '0'}


@pytest.mark.parametrize('state', RunState)
def test_a_state_is_known_by_its_text(state):
    assert RunStatus.of(message({'state': state.value})).state == state


def test_a_text_in_place_of_a_number_is_an_error():
    with pytest.raises(ValueError):
        RunStatus.of(message({'state': 'RUNNING', 'sim_time_s': 'soon'}))
