# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How each vehicle of a recorded flight has fared: mission, link, and what had to hold of it."""
from __future__ import annotations

import typing

from px4_sim_ros.model.scenario.happening import is_verdict
from px4_sim_ros.recording.analysis import lockstep_terms as terms
from px4_sim_ros.recording.analysis.fleet_flight import FleetFlight
from px4_sim_ros.recording.report.lockstep_health import state_seconds, troubles
from px4_sim_ros.recording.report.report_page import paragraph, table

_BRIDGE, _PILOT = 'hil_bridge', 'pilot'


def health_table(flight: FleetFlight) -> str:
    """Return a row for each vehicle as HTML."""
    rows = [_row(flight, name) for name, found in flight.counters.items() if _BRIDGE in found]
    if not rows:
        return paragraph('No vehicle has published counters.')
    return table(('vehicle', 'mission', 'link at the end', terms.UNANSWERED,
                  terms.LINK_TROUBLES, terms.LINK_STATES, 'what had to hold'), rows)


def _row(flight: FleetFlight, name: str) -> tuple[object, ...]:
    bridge, sentences = flight.counters[name][_BRIDGE], flight.sentences[name]
    verdicts = [said.text for said in flight.said
                if said.who == f'{name}.scenario' and is_verdict(said.text)]
    return (name, sentences.get(_PILOT) or 'none', sentences[_BRIDGE],
            f"{bridge.last('unanswered'):.0f}",
            _listed(f'{terms.counter_name(kind)} {count}'
                    for kind, count in troubles(bridge).items()),
            _listed(f'{state} {terms.figure(spent_s)} s'
                    for state, spent_s in state_seconds(bridge).items()),
            '; '.join(verdicts) or 'nothing')


def _listed(parts: typing.Iterable[str]) -> str:
    return ', '.join(parts)
