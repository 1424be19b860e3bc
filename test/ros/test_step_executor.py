# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process of a graph: steps go on, and all else has its turn."""
import itertools
import types

import pytest

from px4_sim_ros.ros.framework import block_host
from px4_sim_ros.ros.framework.block_host import BlockHost, StepExecutor

TURN_S = 0.01
PART_OF_STEP_S = 0.0004


class Process:
    """A runner, an executor and a host that note when they have their turn."""

    def __init__(self, monkeypatch):
        self.now_s, self.notes, self.parts = 1000.0, [], 0
        for module in block_host, block_host:
            monkeypatch.setattr(
                module, 'time', types.SimpleNamespace(monotonic=lambda: self.now_s))
        self.host = BlockHost()
        monkeypatch.setattr(self.host, 'runner', types.SimpleNamespace(run=self._run))
        monkeypatch.setattr(
            self.host, 'refresh', lambda: self.notes.append((self.now_s, 'refresh')))
        self.executor = StepExecutor(types.SimpleNamespace(spin_once=self._spin_once), self.host)

    def _run(self):
        self.now_s += PART_OF_STEP_S
        self.parts -= 1
        return self.parts >= 0

    def _spin_once(self, timeout_sec):
        self.notes.append((self.now_s, timeout_sec))

    def turns(self):
        """Return when the executor had its turn, and how long it was to wait."""
        return [note for note in self.notes if note[1] != 'refresh']


@pytest.fixture
def process(monkeypatch):
    return Process(monkeypatch)


def test_while_there_is_nothing_the_executor_waits(process):
    process.executor.spin_once(0.1)
    assert [timeout_s for _, timeout_s in process.turns()] == [0.1]


def test_steps_go_on_first(process):
    process.parts = 7
    process.executor.spin_once(0.1)
    assert process.turns() == [(pytest.approx(1000.0 + 8 * PART_OF_STEP_S), 0.1)]


def test_while_steps_go_on_the_executor_has_its_turn_and_does_not_wait(process):
    process.parts = 10 ** 9
    for _ in range(100):
        process.executor.spin_once(0.1)
    times_s = [1000.0, *(time_s for time_s, _ in process.turns())]
    assert {timeout_s for _, timeout_s in process.turns()} == {0.0}
    assert all(after_s - before_s <= TURN_S + 2 * PART_OF_STEP_S
               for before_s, after_s in itertools.pairwise(times_s))


def test_a_callback_ends_soon_and_the_steps_go_on_without_another(process):
    """A callback is that of an input, which lets the steps go on."""
    process.parts = 40
    process.host.go_on()
    assert process.now_s - 1000.0 <= TURN_S + 2 * PART_OF_STEP_S
    assert process.parts > 0
    process.executor.spin_once(0.1)
    assert process.parts < 0
    assert process.turns()[0][1] == 0.1


@pytest.mark.parametrize('parts', [0, 10 ** 9])
def test_a_subscriber_that_joins_is_seen_soon(parts, process):
    for _ in range(100):
        process.parts = parts
        process.executor.spin_once(0.1)
    times_s = [time_s for time_s, note in process.notes if note == 'refresh']
    assert times_s
    assert max(after_s - before_s for before_s, after_s in zip(
        [1000.0, *times_s], [*times_s, process.now_s])) <= TURN_S + 2 * PART_OF_STEP_S
