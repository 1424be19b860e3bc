# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files that take longest, so that no worker is left with one of them at the end."""
import os

_FOLDER = os.path.dirname(__file__)
# In the order of their seconds on two cores; those that are not here come after them.
FILES = (
    'flight/test_scene_flights.py', 'flight/test_own_blocks.py', 'flight/test_scenarios.py',
    'recording/test_browser.py', 'learning/test_environments.py', 'flight/test_flight_plugin.py',
    'flight/test_visual_odometry.py', 'flight/test_by_hand.py', 'docs/test_tutorial.py',
    'model/test_moving_objects.py', 'flight/test_bursts.py', 'model/test_scene_contact.py',
    'flight/test_plans.py', 'flight/test_collision_flights.py', 'flight/test_hitl.py',
    'flight/test_gimbal.py', 'test_fuzz.py',
    'flight/test_fleet.py', 'flight/test_downwash_flights.py', 'flight/test_repeatable.py',
    'verification/test_verification.py', 'campaign/test_campaign_flights.py',
    'flight/test_fleet_graph.py', 'docs/test_examples.py', 'test_check.py',
    'flight/test_recording.py', 'flight/test_run_control.py',
    'autopilot/test_embedded_autopilot.py', 'docs/test_own_code.py', 'flight/test_faults.py',
    'flight/test_fly.py', 'recording/test_bag_writer.py', 'flight/test_own_flight.py',
    'flight/test_replay.py', 'flight/test_neighbours.py',
    'flight/test_sensors_in_flight.py', 'real/test_identification.py', 'flight/test_one_truth.py',
    'ros/test_equality.py', 'recording/test_report.py', 'viewing/test_view.py',
    'model/test_compiled.py', 'ros/test_nodes.py', 'flight/test_vehicles_fly.py',
    'recording/test_bag_reader.py', 'flight/test_imports.py',
    'link/test_hil_decoder.py', 'ros/test_equality_of_vehicles.py',
    'benchmarks/test_benchmarks.py', 'autopilot/test_estimator.py', 'flight/test_unread.py',
    'flight/test_hang.py', 'flight/test_own_autopilot.py', 'link/test_pilot.py',
    'flight/test_signals.py', 'flight/test_bad_input.py', 'campaign/test_campaign_command.py',
    'docs/test_pages.py', 'recording/test_comparison.py', 'link/test_link_fuzz.py',
    'test_package.py', 'model/test_ground_contact.py',
    'link/test_lockstep.py', 'flight/test_top.py',
    'model/test_imu.py', 'docs/test_troubleshooting.py', 'ros/test_control.py',
    'flight/test_cost_of_scenarios.py',
)
_RANKS = {name: rank for rank, name in enumerate(FILES)}


def sort(items):
    """Put the tests of these files first; those of a file stay as they are."""
    items.sort(key=lambda item: _RANKS.get(os.path.relpath(item.path, _FOLDER), len(FILES)))
