# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files that take longest, so that no worker is left with one of them at the end."""
import os

_FOLDER = os.path.dirname(__file__)
# In the order of their seconds on two cores; those that are not here come after them.
FILES = (
    'test_check.py',
    'run/test_scenarios.py', 'run/test_faults.py', 'run/test_fly.py', 'run/test_recording.py',
    'run/test_run_control.py', 'run/test_fleet.py', 'run/test_neighbours.py',
    'campaign/test_campaign_flights.py', 'docs/test_examples.py', 'ros/test_equality.py',
    'run/test_hang.py', 'run/test_repeatable.py', 'docs/test_own_code.py',
    'run/test_sensors_in_flight.py', 'run/test_fleet_graph.py',
    'verification/test_verification.py', 'run/test_flight_plugin.py', 'run/test_replay.py',
    'run/test_player.py', 'run/test_own_autopilot.py', 'run/test_bench.py',
    'run/test_view_live.py', 'viewing/test_rerun_target.py', 'ros/test_nodes.py',
    'docs/test_pages.py', 'model/test_compiled.py', 'mavlink/test_link_fuzz.py',
    'run/test_live_page.py', 'autopilot/test_embedded_autopilot.py', 'mavlink/test_pilot.py',
    'mavlink/test_lockstep.py', 'recording/test_bag_writer.py', 'real/test_open_loop.py',
    'run/test_top.py', 'real/test_figures.py', 'real/test_identification.py',
    'recording/test_bag_reader.py',
    'viewing/test_visualizer.py', 'run/test_vehicles_fly.py', 'run/test_soak.py',
    'run/test_bad_input.py', 'ros/test_interposed.py',
)
_RANKS = {name: rank for rank, name in enumerate(FILES)}


def sort(items):
    """Put the tests of these files first; those of a file stay as they are."""
    items.sort(key=lambda item: _RANKS.get(os.path.relpath(item.path, _FOLDER), len(FILES)))
