# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The node `scenario`: publishes and logs what the scenario does, and its verdicts."""
from __future__ import annotations

import typing

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters

from px4_sim_ros.link.pilot.scenario_mavlink import check_event
from px4_sim_ros.messages.event_messages import (
    happening_message,
)
from px4_sim_ros.messages.event_messages import (
    scenario_over_message as over_message,
)
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.scenario.happening import Happening, Verdicts
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.spec.configuration import NodeConfiguration
from px4_sim_ros.spec.files import read_event
from px4_sim_ros.step import side_topics
from px4_sim_ros.step.graph import Graph
from px4_sim_ros.step.scenario_block import ScenarioBlock


class ScenarioNode(BlockNode):
    """The face of the block that runs a scenario."""

    def __init__(self, *arguments: typing.Any) -> None:
        super().__init__(*arguments)
        self._events = self.create_publisher(
            DiagnosticStatus, side_topics.SCENARIO_EVENTS.name, qos.LATCHED_LOG)

        self._service = self.create_service(SetParameters, '~/do', self._on_do)

    def _on_do(
        self, request: SetParameters.Request, response: SetParameters.Response,
    ) -> SetParameters.Response:
        """Do what each text says: an event of a scenario file, as YAML."""
        for given in request.parameters:
            try:
                if not isinstance(self.block, ScenarioBlock):
                    raise ParameterError('fault: the node scenario is not configured')
                name = self.block.do(read_event(given.value.string_value), check_event)
                result = SetParametersResult(successful=True, reason=name)
            except ParameterError as error:
                result = SetParametersResult(successful=False, reason=str(error))
            response.results.append(result)
        return response

    def configure(self, configuration: NodeConfiguration, nodes: Graph) -> None:
        """Make the block, whose events are published."""
        super().configure(configuration, nodes)
        assert isinstance(self.block, ScenarioBlock), 'an own class is one, too'
        self.block.on_event, self.block.on_over = self._publish, self._publish_verdicts

    def _publish(self, happening: Happening) -> None:
        self._events.publish(happening_message(happening))
        self.publish_line(happening.time_us, happening.text)

    def _publish_verdicts(self, verdicts: Verdicts) -> None:
        assert isinstance(self.block, ScenarioBlock), 'it has reported them'
        situation = self.block.course.situation
        if self.vehicle and situation is not None:       # one alone goes no further
            self._host.freeze_fingerprint(self.vehicle, situation.time_us)
        for verdict in verdicts:
            self.publish_line(situation.time_us if situation is not None else 0, verdict.text)
            self.get_logger().print(verdict.text)
        self._events.publish(over_message(verdicts))
