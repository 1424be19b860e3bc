# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What takes a while to load is loaded by those only who need it."""
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

# Each takes a tenth of a second or more.
SLOW = {'numba', 'rclpy', 'rosbags', 'pyproj', 'plotly', 'rerun', 'scipy', 'pyarrow',
        'distributed', 'pyulog', 'px4_sim_ros.real'}


def loaded(program):
    """Return which of these modules a program has loaded at its end."""
    result = subprocess.run(
        [sys.executable, '-c', f'import atexit, sys\n'
         f'atexit.register(lambda: print("loaded", *sorted({SLOW!r} & set(sys.modules))))\n'
         f'{program}'], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.splitlines()[-1].split()[1:])


def test_a_command_loads_its_own_module_only():
    """All in one process: none of them may load any of these."""
    commands = [['--help'], ['pause', '--help'], ['top', '--help'], ['pilot', '--help'],
                ['fly', '--help'], ['visualizer', '--help'], ['campaign', '--help'],
                ['validate', '--help'], ['identify', '--help']]
    program = ('from px4_sim_ros.cli.command_line import main\n'
               f'for words in {commands!r}:\n'
               '    try:\n'
               '        main(words)\n'
               '    except SystemExit as end:\n'
               '        assert end.code == 0\n'
               '    else:\n'
               '        raise AssertionError(words)')
    assert loaded(program) - {'rclpy'} == set()


def test_a_word_to_a_graph_is_soon_said():
    """Whatever it is about, there are no arrays in it."""
    program = ('from px4_sim_ros.cli.command_line import main\n'
               'try:\n'
               '    main(["stop", "--help"])\n'
               'except SystemExit:\n'
               '    assert "numpy" not in sys.modules\n')
    assert loaded(program) == set()


def test_nodes_load_what_they_need():
    """They read what is flown without definitions of messages."""
    assert loaded('import px4_sim_ros.ros.world\n'
                  'import px4_sim_ros.recording.bag.fleet_description\n'
                  'assert not {"rosbags", "px4_sim_ros.spec.flight_spec"} & sys.modules.keys()\n'
                  'from px4_sim_ros.step import graph\n'
                  'for name in "imu", "gps", "manager", "hil_bridge", "dynamics":\n'
                  '    spec = graph.NODES[name]\n'
                  '    for path in filter(None, (spec.node, spec.block, spec.model)):\n'
                  '        graph.load(path)') == {'rclpy'}


def test_a_flight_without_a_scenario_does_without_actions():
    program = ('import px4_sim_ros.cli.fly\n'
               'import px4_sim_ros.flight.core_world\n'
               'assert "px4_sim_ros.model.faults.actions" not in sys.modules\n')
    assert loaded(program) - {'rclpy'} == set()


def test_who_only_looks_at_a_compiled_function_loads_no_compiler():
    """As pytest does, which looks for its marks."""
    program = ('from px4_sim_ros.model.body.motion import advance\n'
               'assert not hasattr(advance, "pytestmark")\n')
    assert loaded(program) == set()


def test_signals_wait_before_anything_is_imported_that_takes_a_while():
    """Without what `site` loads, which differs from machine to machine."""
    program = (f'import os, sys; sys.path[:0] = {sys.path!r}; before = set(sys.modules)\n'
               'import px4_sim_ros.process.signal_mask\n'
               'print(*sorted(sys.modules.keys() - before))')
    result = subprocess.run([sys.executable, '-S', '-c', program], capture_output=True, text=True,
                            check=True)
    assert result.stdout.split() == ['__future__', 'px4_sim_ros', 'px4_sim_ros.process',
                                     'px4_sim_ros.process.signal_mask']
