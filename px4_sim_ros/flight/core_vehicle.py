# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One vehicle of mode `core`: its blocks, and what they report."""
from __future__ import annotations

import contextlib
import typing

from px4_sim_ros.link.hil.block import HilBlock
from px4_sim_ros.link.hil.link_state import LinkState
from px4_sim_ros.link.pilot.block import PilotBlock
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.model.scenario.happening import Happening, Verdicts
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.spec.blocks import make_blocks
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.block import Block
from px4_sim_ros.step.graph import TOPICS_OF_PX4
from px4_sim_ros.step.presence import ALWAYS, Change, Presence
from px4_sim_ros.step.repeatability import FINGERPRINT, first_gap
from px4_sim_ros.step.runner import Group

if typing.TYPE_CHECKING:       # a run without them does without the messages, and all actions
    from px4_sim_ros.flight.core_recorder import CoreRecorder
    from px4_sim_ros.link.xrce.block import Px4TopicsBlock
    from px4_sim_ros.model.body.scene_contact import Touch
    from px4_sim_ros.ros.tools.core_ros import CoreRos
    from px4_sim_ros.step.dynamics_block import DynamicsBlock
    from px4_sim_ros.step.scenario_block import ScenarioBlock


class VehicleSetup(typing.NamedTuple):
    """A vehicle of a world, and what is called with what it does."""

    configuration: Configuration
    name: str = ''                     # '' for one alone
    own_classes: typing.Mapping[str, str] | None = None
    # With what the pilot has achieved; with why its mission was not flown at its end, '' if it was.
    on_pilot: typing.Callable[[Event | str], None] = lambda event: None
    # With what the scenario does, and with the verdicts at its end.
    on_scenario: typing.Callable[[Happening | Verdicts], None] = lambda happening: None
    presence: Presence = ALWAYS
    on_change: typing.Callable[[Change], None] = lambda change: None


class CoreVehicle:
    """The blocks of a vehicle."""

    def __init__(
        self, setup: VehicleSetup, recorder: CoreRecorder | None, stack: contextlib.ExitStack,
        *, is_alone: bool, ros: CoreRos | None = None,
    ) -> None:
        self._setup, self._recorder, self._is_alone = setup, recorder, is_alone
        self.name = setup.name
        self.blocks = make_blocks(setup.configuration, setup.own_classes, self.name)
        for block in self.blocks.values():
            stack.callback(block.close)
        self.bridge = typing.cast(HilBlock, self.blocks['hil_bridge'])
        self.bridge.is_alone = is_alone
        if recorder is not None:
            self.bridge.on_state = self._record_state
        self._pilot = typing.cast('PilotBlock | None', self.blocks.get('pilot'))
        self._flown_fingerprint = ''
        if self._pilot is not None:
            self._pilot.autopilot_is_here = self.bridge.has_autopilot
            if recorder is not None:
                self._pilot.telemetry = recorder.telemetry(self.name)
            self._pilot.on_event, self._pilot.on_over = self._report, self._note_over
        self._topics = typing.cast('Px4TopicsBlock | None', self.blocks.get(TOPICS_OF_PX4))
        if self._topics is not None:
            from px4_sim_ros.link.xrce.block import TopicsParameters
            from px4_sim_ros.messages.px4_definitions import Px4Definitions
            definitions = Px4Definitions(
                setup.configuration.of_node(TOPICS_OF_PX4, TopicsParameters).messages)
            self.bridge.hearer = self._topics
            if ros is not None:
                self._topics.ros = ros.gateway(definitions)
            if recorder is not None:
                self._topics.record = recorder.of_px4(definitions)
        if setup.configuration.scene is not None and hasattr(self.blocks['dynamics'], 'on_touch'):
            # A class of the user's may have none.
            typing.cast('DynamicsBlock', self.blocks['dynamics']).on_touch = self._touch
        if 'scenario' in self.blocks:
            self.scenario = typing.cast('ScenarioBlock', self.blocks['scenario'])
            self.scenario.on_event, self.scenario.on_over = self._happen, self._judge

    @property
    def group(self) -> Group:
        """What the runner steps."""
        configuration = self._setup.configuration
        return Group(self.name, configuration.graph, configuration.world, self.blocks)

    # What its blocks say.

    def _report(self, event: Event) -> None:
        self._record(round(event.time_s * US_PER_S), event.text, 'pilot')
        self._setup.on_pilot(event)

    def _note_over(self, failure: str) -> None:
        if not self._setup.configuration.world.has_scenario:
            self._keep_fingerprint()
        self._setup.on_pilot(failure)

    def _keep_fingerprint(self) -> None:
        """Let it be that of the flight up to now, if others may fly on."""
        if not self._is_alone:
            self._flown_fingerprint = self._fingerprint_now()

    def _happen(self, happening: Happening) -> None:
        self._record(happening.time_us, happening.text, 'scenario')
        self._setup.on_scenario(happening)

    def _touch(self, touch: Touch) -> None:
        self._record(touch.time_us, touch.text, 'dynamics')
        self._setup.on_scenario(Happening(touch.time_us, touch.text))

    def _judge(self, verdicts: Verdicts) -> None:
        situation = self.scenario.course.situation
        time_us = situation.time_us if situation is not None else 0
        for verdict in verdicts:
            self._record(time_us, verdict.text, 'scenario')
        self._keep_fingerprint()
        self._setup.on_scenario(verdicts)

    def change(self, change: Change) -> None:
        """Record that the vehicle joins the world or has left it."""
        self._record(change.time_us, change.text, 'world')
        self._setup.on_change(change)

    def _record_state(self, state: LinkState, time_us: int) -> None:
        if self._recorder is not None:
            from px4_sim_ros.messages.autopilot import link_text
            self._recorder.add_side(side_topics.LINK_STATE.name, state.value, self.name)
            self._record(time_us, link_text(state.value), 'hil_bridge')

    def _record(self, time_us: int, text: str, who: str) -> None:
        if self._recorder is not None:
            self._recorder.add_event(time_us, text, who, self.name)

    # What is known of it.

    @property
    def fingerprint(self) -> str:
        """A digest of its flight: up to the end of its mission, if others fly on."""
        return self._flown_fingerprint or self._fingerprint_now()

    def _fingerprint_now(self) -> str:
        # A class of the user's may have none.
        return getattr(self.blocks['dynamics'], FINGERPRINT, '')

    def gap(self) -> str:
        """Return the first cause for which its flight is not repeatable, '' for none."""
        pilot = self._pilot.values() if self._pilot is not None else {}
        topics = self._topics.values() if self._topics is not None else {}
        return first_gap((self.bridge.counters(), pilot, topics))

    def wait(self, timeout_s: float) -> None:
        """While a step is held: wait for its autopilot, if it is that which holds it."""
        if self.bridge.holds():
            self.bridge.wait(timeout_s)
        else:
            self.bridge.idle()

    def reports(self) -> dict[str, typing.Any]:
        """Return the reports of its blocks, by name."""
        return {name: self._block_status(block) for name, block in self.blocks.items()}

    def _block_status(self, block: Block) -> typing.Any:
        found = block.status()
        if found is not None and FINGERPRINT in found.values and self._flown_fingerprint:
            found = found._replace(values={**found.values, FINGERPRINT: self._flown_fingerprint})
        return found
