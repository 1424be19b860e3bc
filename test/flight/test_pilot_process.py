# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a pilot reports reaches whoever has started its process."""
import sys
import threading

import pytest

from px4_sim_ros.flight import pilot_process
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.spec.vehicles_and_missions import load_mission

pytestmark = pytest.mark.slow       # starts processes and waits

EVENTS = [Event('arrived at 3 m north', 1.5, (1.0, 3.0, 2.0), True), Event('landed', 2.0)]
# The process as it is, with a pilot that flies at once.
FLIES = f'''
import sys
from px4_sim_ros.link.pilot.events import Event, MissionError
from px4_sim_ros.flight import pilot_process

class Pilot:
    def __init__(self, instance, report):
        self._report = report

    def fly(self, mission):
        for event in {EVENTS!r}:
            self._report(event)
        if sys.argv[1] == '1':
            raise MissionError('it does not arm')

pilot_process.Pilot = Pilot
sys.exit(pilot_process.main(sys.argv[1:]))
'''


@pytest.mark.parametrize(('instance', 'failure'), [(0, ''), (1, 'it does not arm')])
def test_events_and_the_end_are_reported(instance, failure, monkeypatch):
    monkeypatch.setattr(pilot_process, 'own_module', lambda name, *arguments: [
        sys.executable, '-c', FLIES, *arguments])
    found, over = [], threading.Event()
    pilot = pilot_process.PilotProcess(instance, load_mission('hover'), found.append, over)
    try:
        assert over.wait(30.0)
    finally:
        pilot.stop()
    assert found == EVENTS
    assert (pilot.flown, pilot.failure) == (not failure, failure)
