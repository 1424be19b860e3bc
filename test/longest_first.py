# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files that take longest, so that no worker is left with one of them at the end."""
import os

_FOLDER = os.path.dirname(__file__)
# In the order of their seconds on two cores; those that are not here come after them.
FILES = (
    'run/test_fleet_graph.py', 'run/test_scenarios.py', 'run/test_downwash_flights.py',
    'verification/test_verification.py', 'run/test_fleet.py', 'run/test_recording.py',
    'run/test_faults.py', 'recording/test_browser.py', 'run/test_fly.py',
    'campaign/test_campaign_flights.py',
    'run/test_neighbours.py', 'docs/test_examples.py', 'run/test_flight_plugin.py',
    'test_check.py', 'run/test_run_control.py', 'run/test_repeatable.py',
    'docs/test_own_code.py', 'ros/test_equality.py', 'run/test_fleet_attendance.py',
    'run/test_replay.py', 'run/test_hang.py', 'run/test_sensors_in_flight.py',
    'recording/test_bag_writer.py', 'autopilot/test_embedded_autopilot.py', 'run/test_bench.py',
    'run/test_player.py', 'run/test_view_live.py', 'model/test_compiled.py',
    'real/test_figures.py', 'viewing/test_rerun_target.py', 'real/test_open_loop.py',
    'recording/test_bag_reader.py', 'real/test_identification.py', 'run/test_own_autopilot.py',
    'run/test_vehicles_fly.py', 'recording/test_report.py', 'ros/test_nodes.py',
    'ros/test_equality_of_vehicles.py', 'docs/test_pages.py', 'autopilot/test_estimator.py',
    'mavlink/test_link_fuzz.py', 'test_package.py', 'run/test_unread.py',
    'recording/test_comparison.py', 'run/test_live_page.py', 'recording/test_rosbag2_import.py',
    'model/test_ground_contact.py', 'run/test_soak.py', 'mavlink/test_hil_decoder.py',
    'mavlink/test_pilot.py', 'mavlink/test_lockstep.py', 'run/test_top.py',
    'viewing/test_visualizer.py', 'run/test_bad_input.py', 'ros/test_interposed.py',
)
_RANKS = {name: rank for rank, name in enumerate(FILES)}


def sort(items):
    """Put the tests of these files first; those of a file stay as they are."""
    items.sort(key=lambda item: _RANKS.get(os.path.relpath(item.path, _FOLDER), len(FILES)))
