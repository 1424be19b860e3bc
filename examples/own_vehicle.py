# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Flies my_quad.yaml, without and with a payload, and compares what it needs.

For each payload the file is written anew, checked with `check-vehicle`, and flown by the embedded
autopilot.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

from px4_sim_ros import Flight

HERE = pathlib.Path(__file__).resolve().parent
PAYLOADS_KG = 0.0, 0.5

print('payload_kg  hover_command  endurance_s  top_of_flight_m  landed')
with tempfile.TemporaryDirectory() as folder:
    for payload_kg in PAYLOADS_KG:
        content = yaml.safe_load((HERE / 'my_quad.yaml').read_text(encoding='utf-8'))
        without_kg = content['body']['mass_kg']
        content['body']['mass_kg'] += payload_kg
        # Thrust grows with the square of the speed; check-vehicle compares what PX4 begins with.
        content['px4_parameters']['MPC_THR_HOVER'] *= (1.0 + payload_kg / without_kg) ** 0.5
        vehicle = pathlib.Path(folder, 'quad.yaml')
        vehicle.write_text(yaml.safe_dump(content), encoding='utf-8')
        checked = subprocess.run(
            [sys.executable, '-m', 'px4_sim_ros', 'check-vehicle', vehicle, '--json'],
            check=True, capture_output=True)
        figures = json.loads(checked.stdout)['figures']
        flight = Flight(vehicle=str(vehicle), mission=str(HERE / 'first_hop.yaml'),
                        record=False).fly().summary()
        print(f"{payload_kg:10.1f} {figures['hover_command']:14.3f}"
              f" {figures['endurance_s']:12.0f} {flight['max_altitude_m']:16.2f}"
              f"  {flight['landed']}", flush=True)
