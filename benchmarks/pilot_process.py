# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A pilot in a process of its own, so that what it reads of the autopilot slows no world down.

PX4 streams some thousand messages a second of simulated time. In a thread of mode `core` they
would take turns with the steps.
"""
from __future__ import annotations

import json
import subprocess
import sys
import threading
import typing

from px4_sim_ros.link.pilot.events import Event, MissionError
from px4_sim_ros.link.pilot.pilot import Pilot
from px4_sim_ros.model.errors import sentence
from px4_sim_ros.model.mission import Mission
from px4_sim_ros.process.children import die_with_parent, own_module

_STOP_TIMEOUT_S = 2.0


class PilotProcess:
    """Flies a mission, reports its events, and sets an event at its end."""

    def __init__(
        self, instance: int, mission: Mission, report: typing.Callable[[Event], None],
        over: threading.Event,
    ) -> None:
        """Start it.

        :param report: called at each event, in a thread
        :param over: is set when the mission is flown or lost
        """
        self.flown = False
        self.failure = ''
        self._report, self._over = report, over
        self._stopped = False
        process = subprocess.Popen(
            [*die_with_parent(), *own_module(
                'benchmarks.pilot_process', str(instance),
                json.dumps(mission.to_mapping()))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None        # it is a pipe
        self._process, self._lines = process, process.stdout
        self._thread = threading.Thread(target=self._listen, name='pilot')
        self._thread.start()

    def stop(self) -> None:
        """End it; a second time nothing happens."""
        self._stopped = True
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        self._lines.close()

    def _listen(self) -> None:
        try:
            for line in self._lines:
                (kind, content), = json.loads(line).items()
                if kind == 'event':
                    target = content['target_enu']
                    self._report(Event(
                        **content | {'target_enu': tuple(target) if target else None}))
                elif kind == 'failure':
                    self.failure = content
                else:
                    self.flown = True
            code = self._process.wait()
            if not (self.flown or self.failure or self._stopped):
                self.failure = f'the pilot has ended with exit code {code}'
        finally:
            self._over.set()


def main(arguments: typing.Sequence[str]) -> int:
    """Fly, as the process: write each report as a line of JSON."""
    instance, mission = int(arguments[0]), json.loads(arguments[1])

    def report(kind: str, content: object) -> None:
        print(json.dumps({kind: content}), flush=True)

    try:
        pilot = Pilot(instance, lambda event: report('event', event._asdict()))
        pilot.fly(Mission.from_mapping('mission', mission))
    except (MissionError, OSError) as error:
        report('failure', sentence(error))
        return 1
    report('flown', True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
