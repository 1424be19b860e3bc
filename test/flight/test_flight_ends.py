# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `fly` writes and says at the end of a flight, however it ends."""
import itertools
import json
import os
import signal
import sys
import threading
import types
import unittest.mock

import pytest

from px4_sim_ros import Flight
from px4_sim_ros.cli import command_line, fly_summary
from px4_sim_ros.flight import flight, flight_watch
from px4_sim_ros.flight.record import WorldStatus
from px4_sim_ros.link.pilot.events import Event, MissionError
from px4_sim_ros.process import signal_mask, signals
from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.spec.flight_spec import Options, flight_of
from px4_sim_ros.step.presence import ALWAYS


@pytest.fixture
def end(instance, tmp_path, monkeypatch, capsys):
    """Return what lets a flight end; it returns exit code, texts, summary and pages."""
    def end(error, status, file=tmp_path / 'summary.json'):
        def flown(flight):
            record = flight.result.first
            record.add_event(Event(
                'arrived', 1.0, (1.0, 2.0, 3.0), place_enu=(1.0, 2.0, 3.0)))
            record.status = status
            if error is not None:
                raise error
            record.mission_flown = True
            return flight.result

        pages = []
        monkeypatch.setattr(flight.Flight, 'fly', flown)
        monkeypatch.setattr(
            fly_summary, 'write_report', lambda bag, path: pages.append(path) or True)
        code = command_line.main([
            'fly', '--mode', 'core', '--instance', str(instance), '--summary', str(file),
            '--report', str(tmp_path / 'flight.html')])
        summary = json.loads(file.read_text()) if file.is_file() else None
        return code, capsys.readouterr(), summary, len(pages)
    return end


def test_a_flight_that_was_flown(end):
    code, said, summary, pages = end(None, WorldStatus(steps=250))
    assert (code, said.err, summary['failure'], pages) == (0, '', '', 1)
    assert 'arrival                      2 m north, 1 m east, 3 m up, off by ' in said.out


def test_a_flight_that_has_failed_has_a_summary_and_a_page(end):
    code, said, summary, pages = end(MissionError('not there'), WorldStatus(steps=250))
    assert (code, said.err, summary['failure'], pages) == (1, 'fly: not there\n', 'not there', 1)
    assert 'steps                        250' in said.out and 'not there' not in said.out


def test_whoever_interrupts_a_flight_does_not_wait_for_a_page(end):
    code, said, summary, pages = end(KeyboardInterrupt(), WorldStatus(steps=250))
    assert (code, said.err, pages) == (130, 'fly: interrupted\n', 0)
    assert summary['failure'] == 'interrupted'


@pytest.mark.parametrize('error, code', [(MissionError('no'), 1), (KeyboardInterrupt(), 130)])
def test_a_flight_that_has_not_begun_has_nothing_to_show(error, code, end):
    assert end(error, WorldStatus())[::2] == (code, None)


def test_a_summary_that_cannot_be_written_is_one_sentence(end, tmp_path):
    full = tmp_path / 'full.json'
    full.symlink_to('/dev/full')
    code, said, _, pages = end(None, WorldStatus(steps=250), full)
    assert (code, pages) == (1, 1)
    assert said.err == f'fly: summary {full}: No space left on device\n'


@pytest.fixture
def handlers():
    """Put back what is done about signals."""
    before = {number: signal.getsignal(number) for number in signal_mask.ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_an_interrupt_while_an_autopilot_starts_leaves_none(handlers, monkeypatch):
    ended = []

    class Interrupted:
        processes = ()
        is_over = False

        def __init__(self, *arguments, **named):
            os.kill(os.getpid(), signal.SIGINT)

        def expect_end(self):
            self.is_over = True

        def log_loss(self):
            assert ended               # what it has written is complete
            return LogLoss(2, 3.3)

        def end(self):
            assert self.is_over        # or another one would come in its place
            ended.append(self)

    world = unittest.mock.Mock(recording='')
    flown = flight.Flight(flight_of(Options()), None)
    monkeypatch.setattr(flight, 'compile_ahead', lambda **how: None)
    monkeypatch.setattr(flight, 'make_world', lambda *arguments: world)
    monkeypatch.setattr(flight, 'StartedAutopilot', Interrupted)
    monkeypatch.setattr(sys, 'unraisablehook', sys.unraisablehook)
    signals.raise_interrupt()
    with pytest.raises(KeyboardInterrupt), signals.unwrapped():
        flown.fly()
    assert flown.result.first.log_loss == (2, 3.3)
    assert len(ended) == 1
    world.close.assert_called()
    world.run.assert_not_called()


@pytest.mark.slow
def test_a_signal_as_the_timer_of_a_flight_begins_leaves_none(monkeypatch):
    """It would keep the process, and interrupt whatever runs in it minutes later."""
    begun, start = [], threading.Timer.start

    def interrupted(timer):
        start(timer)
        begun.append(timer)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, 'start', interrupted)
    with pytest.raises(KeyboardInterrupt):
        Flight(mission='hover', record=False).fly(wall_limit_s=600.0)
    timer, = begun
    timer.join(10.0)
    assert timer.daemon and not timer.is_alive()


def test_one_that_was_killed_is_done_with_before_another_is_started(monkeypatch):
    """What a PX4 has written is kept then, and its folder in memory is gone."""
    notes, is_second = [], threading.Event()

    class Autopilot:
        name = 'PX4'

        def __init__(self, number):
            self.number, self.exit_code = number, -signal.SIGKILL if number == 1 else None
            self.end_sentence = 'PX4 was killed'
            notes.append(('starts', number))
            if number == 2:
                is_second.set()

        def stop(self):
            notes.append(('is ended', self.number))

    numbers = itertools.count(1)
    autopilot = flight_watch.StartedAutopilot(
        types.SimpleNamespace(
            name='', autopilot='px4', is_started=True, presence=ALWAYS,
            hil=types.SimpleNamespace(on_waiting='begin_again')),
        types.SimpleNamespace(status=lambda name: types.SimpleNamespace(
            steps=1, link={}, link_count=lambda name: 0)),
        flight_watch.FlightWatch(lambda event: None, has_scenario=False),
        lambda: Autopilot(next(numbers)), lambda: True)
    try:
        assert is_second.wait(30.0)
    finally:
        autopilot.end()
    assert notes == [('starts', 1), ('is ended', 1), ('starts', 2), ('is ended', 2)]
