# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The law of the autopilot as machine code: the bits of plain Python, and no compiler in flight."""
import os
import subprocess
import sys

import pytest

from px4_sim_ros.autopilot.answer import BAROMETER, IMU, MAGNETOMETER, answer, answer_of
from px4_sim_ros.autopilot.memory import constants_of, new_memory
from px4_sim_ros.jit.compiled import compiled

# Made-up samples: from alignment to landing, wherever they lead; then some that are no numbers.
FLIGHT = '''
import math, random, sys
from px4_sim_ros.autopilot.answer import BAROMETER, IMU, MAGNETOMETER
from px4_sim_ros.autopilot.commander import Commander
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import config_directory, read_yaml
from law import FedEstimator

gains = read_yaml(config_directory() / 'autopilot.yaml', 'autopilot file')
estimator = FedEstimator(load_vehicle('hexa'), gains)
m, draw = estimator.records[0][0], random.Random(1).gauss
commander = Commander(m, estimator.records[1][0])
commands = {300: lambda: (commander.take_off(5.0), commander.arm()), 500: lambda: commander.go_to(
    (3.0, -2.0, 4.0), 1.0), 700: commander.land}
for step in range(1, 1000):
    wild = 1.0 if step < 950 else math.nan
    m.time_us = 4000 * step
    m.specific_force_m_s2[:] = draw(0.2, 0.1) * wild, draw(-0.1, 0.1), draw(9.8, 0.5)
    m.gyro_rad_s[:] = draw(0.0, 0.2), draw(0.0, 0.2) * wild, draw(0.1, 0.2)
    m.field_t[:] = draw(2e-5, 1e-6), draw(1e-6, 1e-6), draw(-4e-5, 1e-6) * wild
    m.pressure_pa = draw(9.5e4, 20.0) * wild
    sensors = IMU if step % 5 else IMU | MAGNETOMETER | BAROMETER
    estimator._answer(sensors if step % 50 else 0)
    if step % 25 == 1 and step < 950:
        estimator.gnss(GeodeticPosition(47.0 + draw(0.0, 1e-5), 8.0, draw(500.0, 1.0)),
                       (draw(0.0, 0.1), draw(0.1, 0.1), draw(0.0, 0.1)))
    if step in commands:
        print(commands[step]())
    print([str(value) for value in m.tolist()], m.controls.tolist())
print('numba' in sys.modules)
'''


def flown(**environment):
    """Return what changes in each step of the flight, and whether the compiler was loaded."""
    path = os.pathsep.join(filter(None, [os.path.dirname(__file__), os.environ.get('PYTHONPATH')]))
    result = subprocess.run(
        [sys.executable, '-c', FLIGHT], env=os.environ | {'PYTHONPATH': path} | environment,
        capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    *lines, numba = result.stdout.splitlines()
    return lines, numba


@pytest.mark.process
def test_the_bits_are_those_of_plain_python():
    """And what is kept is loaded without Numba."""
    lines, numba = flown()
    assert len(lines) == 999 + 3
    assert ('nan' in lines[-1], "('', '')" in lines, numba) == (True, True, 'False')
    assert flown(NUMBA_DISABLE_JIT='1') == (lines, 'False')


@pytest.mark.slow
def test_a_compiled_loop_calls_it(iris, gains):
    """The loop is compiled so that nothing in it can make an array."""
    def run(memory, constants, steps, sensors):
        for step in range(steps):
            memory[0].time_us = 4000 * step
            answer(memory, constants, sensors)

    sensors, constants = IMU | MAGNETOMETER | BAROMETER, constants_of(iris, gains)
    one, other = new_memory(), new_memory()
    for m in one[0], other[0]:
        m.specific_force_m_s2[:], m.pressure_pa = (0.1, 0.2, 9.8), 9e4
        m.field_t[:] = 2e-5, 1e-6, 0.0
    compiled(run)(one, constants, 50, sensors)
    step = answer_of(other, constants)
    for time_us in range(0, 200_000, 4000):
        other[0].time_us = time_us
        assert not step(sensors)
    assert one.tobytes() == other.tobytes() != new_memory().tobytes()
