# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Vehicles that are added to a running world, removed from it, or restarted by hand.

The services `NAMESPACE/sim/add`, `remove` and `restart` of the manager. A change is made between
two steps of the vehicle, while the clock is held: the process with its blocks takes it in first.
"""
from __future__ import annotations

import functools
import time
import typing

from std_srvs.srv import Trigger

from px4_sim_ros.messages.run_status import RunState
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.ros.framework.status_client import ChangeTeller
from px4_sim_ros.ros.manager import sequences
from px4_sim_ros.ros.manager.clock_driver import ClockDriver
from px4_sim_ros.ros.manager.lifecycle_client import ManagedNode, Sequence, TransitionError
from px4_sim_ros.step.presence import Change
from px4_sim_ros.step.runner import Runner

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.manager import ManagerNode

_VERBS = {'add': 'added', 'remove': 'removed', 'restart': 'restarted'}

# Of wall time. A step that is held for an autopilot never ends; the others take milliseconds.
_STEP_TIMEOUT_S = 0.5
_TAKEN_TIMEOUT_S = 10.0


class VehicleControl:
    """Publishes which vehicles join and leave, and serves changes by hand."""

    def __init__(
        self, manager: ManagerNode, runner: Runner, driver: ClockDriver,
        nodes: typing.Sequence[ManagedNode], vehicles: typing.Sequence[str],
    ) -> None:
        self._manager = manager
        self._runner, self._driver = runner, driver
        self._nodes, self._vehicles = nodes, vehicles
        self._teller = ChangeTeller(manager)
        self.changes = 0
        """How many changes by hand were made."""
        runner.on_change = lambda change: self._teller.tell(change, manager.run)
        self._services = [
            manager.create_service(Trigger, f'{vehicle}/sim/{verb}',
                                functools.partial(self._on_request, vehicle, verb))
            for vehicle in vehicles for verb in _VERBS]

    def there(self) -> list[str]:
        """Return the vehicles that take part in the next step."""
        clock = self._driver.clock
        return [vehicle for vehicle in self._vehicles if self._runner.presences.has(
            vehicle, clock.complete_us + clock.step_us)]

    def away(self) -> list[str]:
        there = self.there()
        return [vehicle for vehicle in self._vehicles if vehicle not in there]

    def _on_request(
        self, vehicle: str, verb: str, request: Trigger.Request, response: Trigger.Response,
    ) -> Trigger.Response:
        refusal = self._refusal(vehicle, verb)
        if not refusal:
            self._manager.begin(self._change(vehicle, verb))
        response.success = not refusal
        response.message = refusal or f'{vehicle} is {_VERBS[verb]}'
        return response

    def _refusal(self, vehicle: str, verb: str) -> str:
        """Return why a change cannot be made, '' if it can."""
        there = self.there()
        if self._manager.phase is not RunState.RUNNING or self._manager.is_busy:
            return f'cannot {verb} {vehicle} now: another change is under way, or the run ends'
        if verb == 'add':
            joins_us = self._runner.presences.of(vehicle).joins_us
            if vehicle in there:
                return f'{vehicle} is in the world already'
            if joins_us is not None and joins_us > self._driver.clock.complete_us:
                return f'{vehicle} joins by itself at t = {seconds_text(joins_us)}'
        elif vehicle not in there:
            return f'{vehicle} is not in the world'
        elif verb == 'remove' and there == [vehicle]:
            return f'{vehicle} is the last one in the world; stop ends the run'
        return ''

    def _change(self, vehicle: str, verb: str) -> Sequence[None]:
        """Change something between two steps of a vehicle, or in one that is held."""
        clock, runner = self._driver.clock, self._runner
        clock.is_held = True
        try:
            yield from sequences.wait_until(
                lambda: vehicle not in runner.awaited, _STEP_TIMEOUT_S)
            # A step that it holds is given up: who is removed has not taken part in it, and who
            # begins again does so after it, since the others complete it.
            is_held = verb == 'remove' and vehicle in runner.awaited
            time_us = clock.complete_us if is_held else clock.time_us
            runner.change(Change(vehicle, time_us, verb != 'remove', f'{_VERBS[verb]} by hand'))
            if vehicle in self._driver.commands:
                yield from self._wait_until_taken(
                    vehicle, 0 if verb == 'remove' else time_us + clock.step_us)
            self.changes += 1
            self._manager.publish_status()
        except TransitionError as error:
            self._manager.get_logger().error(str(error))
        finally:
            clock.is_held = False

    def _wait_until_taken(self, vehicle: str, next_us: int) -> Sequence[None]:
        """Wait until the process of a vehicle waits for a time, 0: for none."""
        node, = (node for node in self._nodes if node.name == f'{vehicle}/dynamics')
        deadline_s = time.monotonic() + _TAKEN_TIMEOUT_S
        while (yield from node.status()).waits_for_us != next_us:
            if time.monotonic() > deadline_s:
                raise TransitionError(f'{vehicle} has not heard that it is added or removed')
            yield None
