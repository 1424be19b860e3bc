# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files that take longest, so that no worker is left with one of them at the end."""
import os

_FOLDER = os.path.dirname(__file__)
# In the order of their seconds on two cores; those that are not here come after them.
FILES = (
    'flight/test_fleet_graph.py', 'recording/test_browser.py', 'flight/test_faults.py',
    'test_check.py',
    'flight/test_bursts.py', 'flight/test_flight_plugin.py', 'flight/test_scenarios.py',
    'link/test_lockstep.py', 'flight/test_run_control.py', 'campaign/test_campaign_flights.py',
    'flight/test_scene_flights.py', 'flight/test_recording.py', 'flight/test_fleet.py',
    'flight/test_own_blocks.py', 'learning/test_environments.py', 'flight/test_neighbours.py',
    'flight/test_sensors_in_flight.py', 'flight/test_by_hand.py', 'docs/test_examples.py',
    'verification/test_verification.py', 'link/test_pilot.py', 'flight/test_hang.py',
    'flight/test_downwash_flights.py', 'ros/test_equality.py', 'flight/test_one_truth.py',
    'ros/test_control.py', 'docs/test_own_code.py', 'flight/test_fly.py', 'ros/test_nodes.py',
    'flight/test_replay.py', 'model/test_compiled.py', 'flight/test_ends.py',
    'flight/test_collision_flights.py', 'recording/test_report.py', 'model/test_shapes.py',
    'flight/test_visual_odometry.py', 'flight/test_top.py', 'flight/test_repeatable.py',
    'docs/test_tutorial.py', 'flight/test_hitl.py', 'flight/test_signals.py',
    'ros/test_equality_of_vehicles.py', 'recording/test_bag_reader.py',
    'model/test_scene_contact.py', 'link/test_link_oddities.py', 'test_fuzz.py',
    'ros/test_px4_gateway.py', 'link/test_navigated.py', 'recording/test_bag_writer.py',
    'flight/test_own_autopilot.py', 'flight/test_own_flight.py',
    'autopilot/test_embedded_autopilot.py', 'autopilot/test_estimator.py', 'flight/test_plans.py',
    'benchmarks/test_benchmarks.py', 'real/test_identification.py', 'docs/test_security_page.py',
    'viewing/test_view.py', 'test_package.py', 'ros/test_block_host.py', 'model/test_cameras.py',
    'viewing/test_visualizer.py', 'docs/test_architecture.py', 'flight/test_bad_input.py',
    'link/test_link_fuzz.py', 'ros/test_lifecycle_client.py', 'recording/test_comparison.py',
    'model/test_scene_files.py', 'flight/test_unread.py', 'flight/test_px4_command.py',
    'link/test_boot_watch.py', 'model/test_optional_sensors.py', 'model/test_sdf_worlds.py',
    'model/test_vehicle_check.py', 'real/test_open_loop.py', 'link/test_hil_decoder.py',
    'link/test_flight_controller.py', 'flight/test_processes.py', 'model/test_moving_objects.py',
    'docs/test_pages.py', 'model/test_wind.py', 'model/test_vehicle_files.py', 'model/test_imu.py',
    'model/test_scenario.py', 'docs/test_troubleshooting.py', 'real/test_readers.py',
    'link/test_silence.py', 'viewing/test_urdf.py', 'flight/test_damage.py',
    'viewing/test_servos_seen.py', 'ros/test_ros_environment.py', 'model/test_rotation.py',
)
_RANKS = {name: rank for rank, name in enumerate(FILES)}


def sort(items):
    """Put the tests of these files first; those of a file stay as they are."""
    items.sort(key=lambda item: _RANKS.get(os.path.relpath(item.path, _FOLDER), len(FILES)))
