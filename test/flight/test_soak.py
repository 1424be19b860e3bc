# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A long flight: memory stays flat, time stays exact, no step is missed.

SOAK_S is the simulated time in seconds; an hour takes some five minutes.
"""
import json
import os
import subprocess
import sys

import psutil
import pytest
from commands import command, write_long_hover
from graph_processes import running_graph

pytestmark = [pytest.mark.process, pytest.mark.long]

DURATION_S = float(os.environ.get('SOAK_S', '5'))
PATIENCE_S = 60.0 + 2.0 * DURATION_S
STEP_US = 4000


def test_a_long_flight(tmp_path, instance):
    mission, vehicle = write_long_hover(tmp_path, DURATION_S)
    parameters = {'': {'vehicle': str(vehicle)}, 'manager': {'speed_factor': 0.0}}
    with running_graph(tmp_path, 'composed', instance, parameters) as graph:
        graph.wait_up()
        graph.start('autopilot')
        world = psutil.Process(graph.pid('world'))
        with subprocess.Popen(
                command('pilot', '--mission', mission, '--instance', instance),
                stdout=subprocess.PIPE, text=True) as pilot:
            graph.wait_for(lambda: graph.steps > 2500, PATIENCE_S, 'the warm-up')
            sizes = [world.memory_info().rss]
            while pilot.poll() is None:
                graph.observer.spin()
                if graph.steps > 25_000 * len(sizes):
                    sizes.append(world.memory_info().rss)
        sizes.append(world.memory_info().rss)
        assert pilot.returncode == 0
        graph.pause()
        assert graph.steps * STEP_US >= DURATION_S * 1e6
        assert graph.values['sim_time_s'] == f'{graph.steps * STEP_US / 1e6:.6f}'
        link = json.loads(graph.command('top', '--json').stdout)['nodes']['hil_bridge']['link']
        print(f'{graph.steps} steps, real-time factor {graph.values["real_time_factor"]},'
              f' resident memory {[round(s / 2**20, 1) for s in sizes]} MiB, {link}',
              file=sys.stderr)
        assert max(sizes) < 1.05 * sizes[0]
        assert link['state'] == 'LOCKED'
        assert link['misses'] == 0
