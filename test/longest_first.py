# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files that take longest, so that no worker is left with one of them at the end."""
import os

_FOLDER = os.path.dirname(__file__)
# In the order of their seconds on two cores; those that are not here come after them.
FILES = (
    'flight/test_fleet_graph.py', 'flight/test_scenarios.py', 'flight/test_downwash_flights.py',
    'verification/test_verification.py', 'flight/test_fleet.py', 'flight/test_recording.py',
    'flight/test_faults.py', 'recording/test_browser.py', 'flight/test_fly.py',
    'campaign/test_campaign_flights.py',
    'flight/test_neighbours.py', 'docs/test_examples.py', 'flight/test_flight_plugin.py',
    'test_check.py', 'flight/test_run_control.py', 'flight/test_repeatable.py',
    'docs/test_own_code.py', 'ros/test_equality.py', 'flight/test_fleet_attendance.py',
    'flight/test_replay.py', 'flight/test_hang.py', 'flight/test_sensors_in_flight.py',
    'recording/test_bag_writer.py', 'autopilot/test_embedded_autopilot.py',
    'benchmarks/test_benchmarks.py',
    'flight/test_player.py', 'flight/test_view_live.py', 'model/test_compiled.py',
    'real/test_figures.py', 'viewing/test_rerun_target.py', 'real/test_open_loop.py',
    'recording/test_bag_reader.py', 'real/test_identification.py', 'flight/test_own_autopilot.py',
    'flight/test_vehicles_fly.py', 'recording/test_report.py', 'ros/test_nodes.py',
    'ros/test_equality_of_vehicles.py', 'docs/test_pages.py', 'autopilot/test_estimator.py',
    'link/test_link_fuzz.py', 'test_package.py', 'flight/test_unread.py',
    'recording/test_comparison.py', 'recording/test_rosbag2_import.py',
    'model/test_ground_contact.py', 'flight/test_soak.py', 'link/test_hil_decoder.py',
    'link/test_pilot.py', 'link/test_lockstep.py', 'flight/test_top.py',
    'viewing/test_visualizer.py', 'flight/test_bad_input.py', 'ros/test_interposed.py',
)
_RANKS = {name: rank for rank, name in enumerate(FILES)}


def sort(items):
    """Put the tests of these files first; those of a file stay as they are."""
    items.sort(key=lambda item: _RANKS.get(os.path.relpath(item.path, _FOLDER), len(FILES)))
