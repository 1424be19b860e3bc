# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions give the bits of plain Python, and their machine code is kept."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import px4_sim_ros
from px4_sim_ros.jit import code_cache
from px4_sim_ros.jit import compiled as module
from px4_sim_ros.spec import compile_ahead
from px4_sim_ros.spec.configuration import load_configuration

pytestmark = pytest.mark.process

# A flight that leaves the ground, tilts, comes down and slides, in wind, with two packs.
FLIGHT = '''
import dataclasses, json, sys
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.world import Environment
from px4_sim_ros.model.sensors.imu import Imu

configuration = load_configuration(None, {'dynamics': {'integrator': sys.argv[1]}})
vehicle, world = configuration.vehicle, configuration.world
pack = vehicle.battery.packs[0]
worn = dataclasses.replace(pack, series_resistance_ohm=2.0 * pack.series_resistance_ohm)
battery = dataclasses.replace(vehicle.battery, packs=(pack, worn))
dynamics = Dynamics(
    configuration.nodes['dynamics'], dataclasses.replace(vehicle, battery=battery),
    Environment.of(world), world.step_us)
imu = Imu('imu', dataclasses.replace(
    configuration.nodes['imu'], position_m=(0.1, -0.2, 0.05), mounting_deg=(10.0, 20.0, 30.0)),
    world)
speeds = (880.0, 860.0, 861.0, 879.0), (500.0, 530.0, 520.0, 510.0)
for step in range(300):
    truth = dynamics.step(speeds[step > 120], (3.0, -2.0, 0.5))
    print(json.dumps([dynamics.state.tolist(), dynamics.anchors.tolist(), truth,
                      dynamics.battery(), imu.measure(truth)]))
assert max(map(abs, truth.attitude[1:3])) > 0.01 and dynamics.anchors[0, 0] != 0.0
'''


ONE_CALL = """
from px4_sim_ros.model import rotation
from px4_sim_ros.jit.compiled import compiled
print(compiled(rotation.to_body)((0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0)))
"""


def output(*arguments, **environment):
    """Return what a process with this program prints."""
    return subprocess.run(
        [sys.executable, '-c', *arguments], env=os.environ | environment, check=True,
        capture_output=True, text=True).stdout


@pytest.mark.parametrize('integrator', [
    pytest.param('euler', marks=pytest.mark.long), 'rk4', 'rk45'])
def test_the_bits_are_those_of_plain_python(integrator):
    """The same flight with and without the compiler."""
    compiled = output(FLIGHT, integrator)
    assert compiled.count('\n') == 300
    assert compiled == output(FLIGHT, integrator, NUMBA_DISABLE_JIT='1')


def test_machine_code_is_kept_for_the_sources_as_they_are(tmp_path):
    """The second process finds it; there is one folder."""
    found = []
    for _ in range(2):
        assert output(ONE_CALL, XDG_CACHE_HOME=str(tmp_path)) == '(-2.0, 1.0, 3.0)\n'
        found.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob('*.nbc')})
    assert found[0] == found[1] and found[0]
    assert len(list((tmp_path / 'px4_sim_ros').iterdir())) == 1


def test_the_sources_are_all_functions_that_are_compiled():
    """Numba itself would only see the file of a function, and not those of what that calls."""
    package = pathlib.Path(px4_sim_ros.__file__).parent
    using = {path for path in package.rglob('*.py') if '@compiled' in path.read_text()}
    assert len(using) > 8 and using <= set(code_cache.sources())


def test_all_that_is_loaded_as_machine_code_is_compiled_ahead():
    """By the names under which it is kept."""
    package = pathlib.Path(px4_sim_ros.__file__).parent
    names = [getattr(code_cache, name) for path in package.rglob('*.py')
             for name in re.findall(r'machine_code\.load\((\w+),', path.read_text())]
    assert len(names) > 1 and sorted(names) == sorted(compile_ahead._MAKERS)


def test_another_source_has_another_folder(tmp_path, monkeypatch):
    """Also when it is not the file of the function itself."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setattr(code_cache, '__file__', str(tmp_path / 'jit' / 'code_cache.py'))
    (tmp_path / 'model').mkdir()
    folders = []
    for text in ('a = 1', 'a = 2', 'a = 1'):
        (tmp_path / 'model' / 'rotation.py').write_text(text)
        os.utime(tmp_path / 'model' / 'rotation.py', (1.0, 1.0))
        folders.append(code_cache.cache_folder.__wrapped__())
    assert folders[0] == folders[2] != folders[1]


def test_another_copy_has_another_folder(tmp_path, monkeypatch):
    """The same text elsewhere, or of another time, is compiled anew."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    folders = []
    for name, time_s in ('one', 1.0), ('other', 1.0), ('other', 2.0):
        (tmp_path / name / 'model').mkdir(parents=True, exist_ok=True)
        file = tmp_path / name / 'model' / 'rotation.py'
        file.write_text('a = 1')
        os.utime(file, (time_s, time_s))
        monkeypatch.setattr(code_cache, '__file__', str(tmp_path / name / 'jit' / 'code_cache.py'))
        folders.append(code_cache.cache_folder.__wrapped__())
    assert len(set(folders)) == 3


def test_without_a_cache_it_works_all_the_same(tmp_path):
    """The folder of the cache is a file."""
    (tmp_path / 'cache').write_text('')
    assert output(ONE_CALL, XDG_CACHE_HOME=str(tmp_path / 'cache')) == '(-2.0, 1.0, 3.0)\n'


@pytest.mark.parametrize('before', [
    '', pytest.param('import scipy.linalg', marks=pytest.mark.long)])
def test_scipy_stays_out_unless_it_is_there(before):
    program = f"""{before}
import sys
from px4_sim_ros.spec.compile_ahead import compile_motion
compile_motion()
print('scipy.linalg' in sys.modules)
from scipy.linalg import cython_blas
"""
    assert output(program) == f'{bool(before)}\n'


def test_nothing_is_left_to_compile_in_flight():
    """Whatever integrator and wind: what a step calls was called ahead, with the same types."""
    assert output("""
import dataclasses
from px4_sim_ros.spec.compile_ahead import compile_motion
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.model.body import dynamics, integrators
from px4_sim_ros.model.environment import turbulence
from px4_sim_ros.model.world import Environment
called = [f for m in (dynamics, turbulence) for f in vars(m).values()
          if hasattr(f, 'dispatcher')]
compile_motion()
ahead = [f.dispatcher.signatures for f in called]
assert len(ahead) == 4 and all(ahead), ahead
turbulence.TurbulentField(2.0, 30.0, 1, 'wind').at((1.0, 2.0, 3.0))
configuration = load_configuration(None, {})
for integrator in integrators.INTEGRATOR_NAMES:
    parameters = dataclasses.replace(configuration.nodes['dynamics'], integrator=integrator)
    dynamics.Dynamics(parameters, configuration.vehicle, Environment.of(configuration.world),
                      configuration.world.step_us).step((500.0,) * 4)
print([f.__name__ for f, before in zip(called, ahead) if f.dispatcher.signatures != before])
""") == '[]\n'


def test_records_are_read_by_name():
    """In compiled functions, and by whoever looks on."""
    constants = module.record(mass_kg=1.5, arm_m=0.25)
    read = module.compiled(lambda c: c[0].mass_kg * c[0].arm_m)
    assert read(constants) == 0.375
    assert constants['arm_m'].tolist() == [0.25]
    assert np.shape(module.records([(1.0,), (2.0,)], ['a'])) == (2,)


INTERRUPTED = """
import random, signal
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.world import Environment

configuration = load_configuration(None, {})
dynamics = Dynamics(configuration.nodes['dynamics'], configuration.vehicle,
                    Environment.of(configuration.world), configuration.world.step_us)
signal.signal(signal.SIGALRM, signal.default_int_handler)
delays, found = random.Random(1), 0
while found < 2000:
    try:
        signal.setitimer(signal.ITIMER_REAL, delays.uniform(2e-5, 2e-4))
        while True:
            dynamics.step((500.0,) * 4)
    except KeyboardInterrupt:
        found += 1
print(found)
"""


def test_an_interrupt_in_the_midst_of_a_step_is_an_exception():
    """Thousands of them, wherever they hit; not one ends the process."""
    assert output(INTERRUPTED) == '2000\n'


def test_it_is_compiled_for_this_package_wherever_the_user_is(tmp_path, monkeypatch):
    """As in a clone beside the one that is installed: the code of each is kept by its path."""
    (tmp_path / 'px4_sim_ros').mkdir()
    (tmp_path / 'px4_sim_ros' / '__init__.py').write_text('raise ImportError("another one")')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compile_ahead, 'is_kept', lambda name: False)
    compile_ahead.compile_ahead()


def test_what_sees_is_compiled_for_flights_that_have_a_scene(monkeypatch, capsys):
    monkeypatch.setattr(compile_ahead, 'not_compiled', lambda: [*compile_ahead._SEEING])
    monkeypatch.setattr(compile_ahead, 'cache_folder', lambda: None)
    compile_ahead.compile_ahead(sees=False)
    assert capsys.readouterr().err == ''
    compile_ahead.compile_ahead()
    assert 'compiled for this machine' in capsys.readouterr().err
    plain, wall = (load_configuration(None, {'': {'scene': name}}).world
                   for name in ('none', 'wall'))
    assert (plain.sees, wall.sees) == (False, True)
