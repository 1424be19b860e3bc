# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a PX4 is started, without one."""
import contextlib
import json
import lzma
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading

import psutil
import pytest
from bags import largest_file
from px4_flight import NEEDS_FIFO, complaints

from px4_sim_ros.flight.record import FlightResult
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4 import boot_parameters
from px4_sim_ros.px4 import sitl as px4_module
from px4_sim_ros.px4.log import dropouts_ms, loss_of
from px4_sim_ros.px4.shared_core import shared_core_of
from px4_sim_ros.px4.sitl import Px4, Px4Process, world_parameters
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files, load_vehicle
from px4_sim_ros.spec.flight_spec import Options, flight_of
from px4_sim_ros.spec.resources import named_files


def core_of(instance, cores, monkeypatch):
    """Return the core that an instance keeps to when we may use these; None: it keeps to none."""
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: set(cores))
    command = Px4(pathlib.Path('build')).command(instance)
    if command[0] != 'taskset':
        return None
    assert command[1] == '--cpu-list' and command[3] == 'build/bin/px4'
    return int(command[2])


def test_one_that_ends_before_its_threads_are_looked_up_is_asked_in_vain():
    ended = subprocess.Popen(['true'])
    ended.wait()
    signals = []

    class Process:
        pid = ended.pid

        def poll(self):
            return None                # as before it was waited for elsewhere

        def send_signal(self, number):
            signals.append(number)

    px4 = Px4Process.__new__(Px4Process)
    px4._process, px4._goes_first = Process(), True
    px4.ask_to_end()
    assert signals == [signal.SIGTERM]


@pytest.mark.parametrize(('cores', 'expected'), [
    ((0, 1), [1, 1, 1]), ((0, 1, 2, 3), [3, 2, 1, 3]), ((5, 7, 9), [9, 7, 9]), ((4,), [None])])
def test_each_instance_keeps_to_a_core_while_they_last(cores, expected, monkeypatch):
    """The last ones first; the first one stays with the world."""
    assert [core_of(i, cores, monkeypatch) for i in range(len(expected))] == expected


def test_one_that_is_started_in_flight_is_where_the_first_was(monkeypatch):
    """The step has left that core, and so has whoever it starts."""
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {0, 1})
    px4 = Px4(pathlib.Path('build'))
    command = px4.command(0)
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {0})
    assert px4.command(0) == command


def test_all_cores_are_the_systems_choice():
    """Nothing is put before the command."""
    assert Px4(pathlib.Path('build'), 'all-cores').command(0)[0] == 'build/bin/px4'


@pytest.mark.parametrize(('cores', 'expected'), [
    ((0, 1, 2), [2, 1, 0, 2]), ((0, 1), [1, 0, 1]), ((4,), [4, 4])])
def test_one_that_repeats_goes_first_on_its_core(cores, expected, monkeypatch):
    """The step is run there, too, so the first core is one of them, and there need be no other."""
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: set(cores))
    for instance, core in enumerate(expected):
        command = Px4(pathlib.Path('build'), 'repeatable').command(instance)
        assert command[:9] == [
            'taskset', '--cpu-list', str(core), 'prlimit', '--rttime=5000000',
            'chrt', '--fifo', '50', 'build/bin/px4']
        assert shared_core_of(instance) == core
    build = pathlib.Path('build')
    assert world_parameters(Px4(build, 'repeatable'))['hil_bridge']['shares_core'] is True
    assert 'hil_bridge' not in world_parameters(Px4(build))


@pytest.mark.parametrize(('tag', 'model'), [
    ('v1.14.3', 'uniform'), ('v1.17.0-alpha1-1-gce32a51022', 'uniform'), ('', 'uniform'),
    ('v1.18.0-beta1', 'wgs84'), ('v1.18.0', 'wgs84'), ('v2.0.0', 'wgs84')])
def test_gravity_is_that_which_the_release_believes_in(tmp_path, tag, model):
    """EKF2 has normal gravity by latitude from 1.18 on (PX4 #27602); parameters decide."""
    header = tmp_path / 'src' / 'lib' / 'version' / 'build_git_version.h'
    header.parent.mkdir(parents=True)
    header.write_text('#define PX4_GIT_VERSION_STR "ce32a51022ab"\n'
                      f'#define PX4_GIT_TAG_STR "{tag}"\n')
    base = world_parameters(Px4(tmp_path))
    assert load_configuration(None, {}, base=base).world.gravity_model == model
    for own in 'uniform', 'wgs84':
        assert load_configuration(
            None, {'': {'gravity_model': own}}, base=base).world.gravity_model == own


@pytest.mark.process
@NEEDS_FIFO
def test_one_that_keeps_the_core_to_itself_is_ended(monkeypatch):
    """Nobody else could: the step, too, waits until the core is free."""
    monkeypatch.setattr(px4_module, '_LONGEST_TURN_US', 200_000)
    command = Px4(pathlib.Path('build'), 'repeatable').command(0)
    prefix = command[:command.index('build/bin/px4')]
    spins = subprocess.run([*prefix, sys.executable, '-c', 'while True: pass'])
    assert spins.returncode in (-signal.SIGXCPU, -signal.SIGKILL)


@pytest.mark.process
@NEEDS_FIFO
def test_one_that_repeats_ends_with_who_has_started_it(tmp_path):
    """Also one that is too busy to end in order, as PX4 is when it has lost its link."""
    binary = tmp_path / 'bin' / 'px4'
    (tmp_path / 'etc').mkdir()
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\ntrap '' TERM\necho begun\nwhile :; do sleep 0.05; done\n")
    binary.chmod(0o755)
    starts = (
        'import os, pathlib, time\n'
        'from px4_sim_ros.px4 import sitl as px4\n'
        f'build = px4.MEMORY = pathlib.Path({str(tmp_path)!r})\n'
        "built, log = px4.Px4.find(build, 'repeatable'), build / px4.CONSOLE\n"
        'process = px4.Px4Process(built, 3, os.environ, build)\n'
        'while not log.read_text(): pass\n'
        'print(process.pid, flush=True)\n'
        'time.sleep(60.0)\n')
    with subprocess.Popen([sys.executable, '-c', starts], stdout=subprocess.PIPE) as starter:
        pid = int(starter.stdout.readline())
        starter.kill()
    left = [process for process in psutil.process_iter() if process.pid == pid]
    try:
        assert psutil.wait_procs(left, timeout=30.0)[1] == []
    finally:
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


@pytest.mark.parametrize('line, code, said', [
    ('INFO  [px4] PX4 server already running for instance 0', 255,
     ': INFO [px4] PX4 server already running for instance 0'),
    ('ERROR [px4] no daemon\\nbye', 1, ': ERROR [px4] no daemon'), ('ERROR [px4] x', 0, '')])
def test_a_px4_that_fails_says_why(line, code, said, tmp_path):
    """As its console does, whose colours stay there; the first is that of a real one."""
    binary = tmp_path / 'bin' / 'px4'
    binary.parent.mkdir()
    binary.write_text(
        '#!/bin/sh\necho "INFO  [px4] instance: 0"\n'
        f'printf "\\033[31m{line}\\033[0m\\n"\nexit {code}\n')
    binary.chmod(0o755)
    px4 = Px4Process(Px4(tmp_path, 'all-cores'), 0, os.environ, tmp_path)
    assert px4.wait(10.0)
    assert px4.end_sentence == f'PX4 has ended with exit code {code}{said}'


@pytest.mark.process
@NEEDS_FIFO
@pytest.mark.parametrize('is_full', [False, True])
def test_what_one_that_repeats_prints_is_in_memory_while_it_runs(is_full, tmp_path, capsys):
    """It would wait for the disk otherwise; a user reads it at the same place all the time.

    What does not fit on the disk at the end takes nothing away from the flight.
    """
    binary = tmp_path / 'build' / 'bin' / 'px4'
    binary.parent.mkdir(parents=True)
    binary.write_text('#!/bin/sh\necho begun\nexec sleep 60\n')
    binary.chmod(0o755)
    folder, console = tmp_path / 'folder', tmp_path / 'folder' / px4_module.CONSOLE
    folder.mkdir()
    px4 = Px4Process(Px4(tmp_path / 'build', 'repeatable'), 0, os.environ, folder)
    try:
        while not console.read_text():
            assert px4.exit_code is None
        memory = console.resolve().parent
        assert memory.parent == px4_module.MEMORY
    finally:
        with largest_file(3) if is_full else contextlib.nullcontext():
            px4.stop()
    assert not console.is_symlink() and not memory.exists()
    assert console.read_text() == ('beg' if is_full else 'begun\n')
    assert capsys.readouterr().err == (
        f'PX4: its files cannot be kept in {folder}: File too large\n' if is_full else '')


def ulog(*messages):
    """Return a ULog of messages: type, and what it has."""
    return b'ULog\x01\x12\x35\x01' + bytes(8) + b''.join(
        struct.pack('<HB', len(body), ord(kind)) + body for kind, body in messages)


FLAGS = ('B', bytes(40))
TOPIC = ('F', b'x:uint64_t timestamp;'), ('A', b'\0\0\0x')
DATA = ('D', b'\0\0' + b'\x02\0O\xff\xff\0\0\0')      # a dropout only by its looks
SHORT, LONG = ('O', struct.pack('<H', 1300)), ('O', struct.pack('<H', 2000))
BUSY = 'because the machine was busy: fly with'


@pytest.mark.parametrize('logs, dropouts, lost_s, warning', [
    ([ulog(FLAGS, *TOPIC, DATA, SHORT, DATA, LONG)], 2, 3.3,
     f"PX4's log lacks 3.3 s in 2 dropouts, {BUSY} --px4-schedule repeatable, or with fewer other"
     ' processes'),
    ([ulog(FLAGS, LONG), ulog(FLAGS, SHORT), ulog(FLAGS)], 2, 3.3, ...),      # armed three times
    ([ulog(FLAGS, SHORT, DATA) + b'\x09'], 1, 1.3,
     f"PX4's log lacks 1.3 s in a dropout, {BUSY} --px4-schedule repeatable, or with fewer other"
     ' processes'),
    ([ulog(FLAGS, SHORT, LONG)[:-1]], 1, 1.3, ...),                   # PX4 was killed meanwhile
    ([ulog(FLAGS, SHORT, ('\0', b''), LONG)], 1, 1.3, ...),           # what follows is not known
    ([ulog(FLAGS, DATA)], 0, 0.0, ''), ([ulog()], 0, 0.0, ''),
    ([b''], None, None, ''), ([b'no log' * 9], None, None, ''), ([], None, None, '')])
def test_what_px4s_log_lacks_is_in_the_summary(logs, dropouts, lost_s, warning, tmp_path):
    """A dropout is a message of type O with a number of ms; a damaged log fails nothing."""
    binary = tmp_path / 'bin' / 'px4'
    binary.parent.mkdir()
    binary.write_text('#!/bin/sh\n')
    binary.chmod(0o755)
    px4 = Px4Process(Px4(tmp_path, 'all-cores'), 0, os.environ, tmp_path)
    px4.stop()
    for number, log in enumerate(logs):
        path = tmp_path / 'log' / '2026-11-26' / f'13_00_0{number}.ulg'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log)
    result = FlightResult(flight_of(Options()))
    result.first.log_loss = loss_of([px4])
    summary = result.summary({})
    assert (summary.get('log_dropouts'), summary.get('log_lost_s')) == (dropouts, lost_s)
    assert warning in (result.first.log_warning, ...)
    result.first._shares_core = True
    assert ('--px4-schedule' in result.first.log_warning, bool(result.first.log_warning)) == (
        False, bool(dropouts))


def test_the_dropouts_of_a_log_are_those_that_another_library_finds(tmp_path):
    pyulog = pytest.importorskip('pyulog')
    path = tmp_path / 'log.ulg'
    path.write_bytes(ulog(FLAGS, *TOPIC, DATA, SHORT, DATA, LONG, DATA))
    others = [dropout.duration for dropout in pyulog.ULog(str(path)).dropouts]
    assert dropouts_ms(path) == others == [1300, 2000]


# Some of the parameters of two releases.
V1_17 = {'EKF2_GPS_DELAY': 'Float', 'EKF2_GPS_POS_X': 'Float', 'COM_RC_OVERRIDE': 'Int32',
         'COM_TAKEOFF_ACT': 'Int32', 'MPC_XY_P': 'Float', 'CAL_ACC0_ID': 'Int32',
         'SIM_BAT_ENABLE': 'Int32', 'MC_AIRMODE': 'Int32'}
V1_18 = {'SENS_GPS0_DELAY': 'Int32', 'SENS_GPS1_DELAY': 'Int32', 'SENS_GPS0_OFFX': 'Float',
         'MAN_OVERRIDE_SPD': 'Float', 'MPC_XY_P': 'Float', 'SIM_BAT_DRAIN': 'Float',
         'MC_AIRMODE_LIM': 'Float', 'MC_AIRMODE_YAW': 'Int32', 'MPC_AUTO_NUDGING': 'Int32',
         'MNT_MAX_PITCH': 'Float', 'MNT_MIN_PITCH': 'Float'}


@pytest.fixture
def begun_with(tmp_path, monkeypatch):
    """Return a function: what a PX4 of a release begins with, if this is asked for by its file."""
    for variable in px4_module.parameters_set():
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)

    def environment(types, asked, variables=()):
        for variable, text in variables:
            monkeypatch.setenv(variable, text)
        extras = tmp_path / str(len(types)) / 'etc/extras'
        extras.mkdir(parents=True, exist_ok=True)
        (extras / 'parameters.json.xz').write_bytes(lzma.compress(json.dumps(
            {'parameters': [{'name': name, 'type': kind}
                            for name, kind in {'MPC_THR_HOVER': 'Float', **types}.items()]}
        ).encode()))
        boot_parameters._types.cache_clear()
        scenario = tmp_path / 'asked.yaml'
        scenario.write_text(json.dumps({'px4': asked}))
        found, remarks = boot_parameters.environment(
            Px4(extras.parent.parent), load_vehicle('iris'), Files().scenario(str(scenario)))
        found = {name.removeprefix('PX4_PARAM_'): text for name, text in found.items()
                 if name.startswith('PX4_PARAM_')}
        del found['MPC_THR_HOVER']                              # of the Iris, which has a battery
        assert found.pop(next(name for name in types if name.startswith('SIM_BAT_'))) == '0'
        return found, remarks
    yield environment
    boot_parameters._types.cache_clear()


@pytest.mark.parametrize(('types', 'asked', 'found'), [
    (V1_17, {'EKF2_GPS_DELAY': 10}, {'EKF2_GPS_DELAY': '10'}),
    (V1_18, {'EKF2_GPS_DELAY': 10}, {'SENS_GPS0_DELAY': '10', 'SENS_GPS1_DELAY': '10'}),
    (V1_17, {'SENS_GPS0_DELAY': 10}, {'EKF2_GPS_DELAY': '10'}),
    (V1_18, {'EKF2_GPS_POS_X': 0.1}, {'SENS_GPS0_OFFX': '0.1'}),
    (V1_18, {'COM_RC_OVERRIDE': 0}, {'MAN_OVERRIDE_SPD': '-1'}),
    (V1_18, {'MC_AIRMODE': 2}, {'MC_AIRMODE_LIM': '1', 'MC_AIRMODE_YAW': '1'}),
    (V1_18, {'MPC_LAND_RC_HELP': 1}, {'MPC_AUTO_NUDGING': '2'}),
    (V1_18, {'MNT_RANGE_PITCH': 90}, {'MNT_MAX_PITCH': '45', 'MNT_MIN_PITCH': '-45'}),
    # All digits: `param set` reads 1 from 1.31099e+06.
    (V1_17, {'CAL_ACC0_ID': 1310988}, {'CAL_ACC0_ID': '1310988'}),
    (V1_17, {'MPC_XY_P': 0.123456789}, {'MPC_XY_P': '0.123456789'}),
    (V1_18, {'SIM_GZ_EN': 0}, {})])
def test_a_parameter_is_set_under_the_name_that_px4_has(begun_with, types, asked, found):
    """Those of 1.18 follow its own param_translation.cpp."""
    assert begun_with(types, asked) == (found, [])


def test_each_vehicle_has_its_parameters(tmp_path):
    """As its file has them, whole numbers or not; here of a build without a list."""
    for name in named_files('vehicles'):
        found, remarks = boot_parameters.environment(Px4(tmp_path), load_vehicle(name), None)
        asked = load_vehicle(name).px4_parameters
        assert remarks == []
        assert {key: float(found[f'PX4_PARAM_{key}']) for key in asked} == asked


@pytest.mark.parametrize(('asked', 'value'), [
    ('COM_TAKEOFF_ACT', 1), ('COM_RC_OVERRIDE', 1), ('COM_OBC_LOSS_T', 2), ('COM_KILL_DISARM', 1)])
def test_what_a_release_has_no_longer_is_said(begun_with, asked, value):
    found, (remark,) = begun_with(V1_18, {asked: value})
    assert found == {}
    assert remark.endswith(
        f'px4: {asked} = {value}: this PX4 has it no longer; it is not set')


@pytest.mark.parametrize(('asked', 'variables', 'sentence'), [
    ({'MPC_XY_PX': 1}, (), 'px4: MPC_XY_PX: PX4 has no such parameter; did you mean MPC_XY_P'),
    ({'COM_RC_OVERRIDE': 3.7}, (),
     'COM_RC_OVERRIDE = 3.7: must be a whole number of 32 bits: it is of type INT32'),
    ({'CAL_ACC0_ID': 2**31}, (), 'CAL_ACC0_ID = 2147483648: must be a whole number of 32 bits'),
    ({'SIM_GZ_EN': 1}, (), 'SIM_GZ_EN: PX4 has no such parameter'),
    ({}, [('PX4_PARAM_NO_SUCH', '1')],
     'environment variable PX4_PARAM_NO_SUCH: NO_SUCH: PX4 has no such parameter'),
    ({}, [('PX4_PARAM_MPC_XY_P', 'much')],
     'environment variable PX4_PARAM_MPC_XY_P: MPC_XY_P = much: must be a number of 32 bits')])
def test_what_px4_would_not_take_is_refused_before_it_starts(
        begun_with, asked, variables, sentence):
    with pytest.raises(ParameterError) as error:
        begun_with(V1_17, asked, variables)
    assert sentence in str(error.value)


@pytest.mark.parametrize('data', [
    b'', b'x', lzma.compress(b'{}')[:-9], lzma.compress(b'{'),
    lzma.compress(b'{"parameters": [1]}'),
    lzma.compress(b'{"parameters": [{"name": "MPC_XY_P"}]}')])
def test_a_list_of_parameters_that_is_damaged_is_one_sentence(data, tmp_path):
    (tmp_path / 'etc/extras').mkdir(parents=True)
    (tmp_path / 'etc/extras/parameters.json.xz').write_bytes(data)
    with pytest.raises(ParameterError) as error:
        boot_parameters.environment(Px4(tmp_path), load_vehicle('iris'), None)
    assert str(error.value) == (f'px4_dir = {tmp_path}: must have a whole'
                                ' etc/extras/parameters.json.xz; build PX4 again')


def test_those_that_repeat_together_are_on_one_core(monkeypatch):
    monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: {0, 1, 2, 3})
    px4 = Px4(pathlib.Path('build'), 'repeatable', core_instance=1)
    assert {px4.command(instance)[2] for instance in range(1, 5)} == {str(shared_core_of(1))}


@pytest.mark.process
def test_a_machine_that_does_not_permit_it_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / 'chrt').write_text('#!/bin/sh\nexit 1\n')
    (tmp_path / 'chrt').chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ParameterError, match=r'^px4_schedule = repeatable: this user may not use'):
        Px4.find(tmp_path, 'repeatable')


@pytest.mark.process
def test_who_keeps_to_a_core_is_there_alone():
    """What is put before the command does what it is to do, on this machine."""
    cores = os.sched_getaffinity(0)
    command = Px4(pathlib.Path('build')).command(0)
    prefix = command[:command.index('build/bin/px4')]
    if len(cores) == 1:
        assert prefix == []
        return
    told = subprocess.run(
        [*prefix, sys.executable, '-c', 'import os; print(os.sched_getaffinity(0))'],
        capture_output=True, text=True, check=True).stdout
    assert told == f'{{{max(cores)}}}\n'


def test_what_a_build_leaves_out_is_no_complaint():
    """The boot script sets parameters of modules that a build may have or not, and starts them.

    Nor is it one that a busy machine kept it waiting.
    """
    assert complaints(
        'ERROR [param] Parameter UXRCE_DDS_KEY not found.\n'
        'ERROR [param] Parameter UXRCE_DDS_AG_IP not found.\n'
        'ERROR [param] Parameter UXRCE_DDS_DOM_ID not found.\n'
        'ERROR [param] Parameter IMU_GYRO_FFT_EN not found.\n'
        'etc/init.d-posix/rcS: 324: uxrce_dds_client: not found\n'
        'ERROR [simulator_mavlink] poll timeout 0, 22\n') == []
    ours = 'ERROR [param] Parameter EKF2_EN not found.'
    assert complaints(f'INFO  [px4] instance: 0\n{ours}\n') == [ours]


@pytest.fixture
def busy_core():
    """Keep the core of repeatable PX4s busy with one that rests no more, as an orphan of others."""
    prefix = Px4(pathlib.Path('none'), 'repeatable')._prefix(0)
    # What comes after it has a twentieth of the core until it asks for a policy: that takes
    # seconds on a slow machine, and the core must not be free before.
    rttime = next(word for word in prefix if word.startswith('--rttime='))
    prefix[prefix.index(rttime)] = '--rttime=60000000'
    hog = subprocess.Popen([*prefix, sys.executable, '-c', 'print(flush=True)\nwhile True: pass'],
                           stdout=subprocess.PIPE)
    assert hog.stdout.readline()          # it has the core
    yield
    os.sched_setaffinity(hog.pid, range(os.cpu_count()))      # it may wait for that core itself
    hog.kill()
    hog.communicate()


@pytest.mark.process
@NEEDS_FIFO
def test_one_that_never_gets_its_core_is_ended_all_the_same(busy_core, tmp_path):
    build = tmp_path / 'build'
    (build / 'bin').mkdir(parents=True)
    # At times the kernel lets it go on from a twentieth of the core: it does not end then either.
    (build / 'bin' / 'px4').write_text('#!/bin/sh\nexec sleep 60\n')
    (build / 'bin' / 'px4').chmod(0o755)
    px4 = Px4Process(Px4(build, 'repeatable'), 0, os.environ, tmp_path)
    while os.sched_getscheduler(px4.pid) != os.SCHED_FIFO:
        assert px4.exit_code is None
    ended = threading.Thread(target=px4.stop, args=(0.2,), daemon=True)
    ended.start()
    ended.join(10.0)
    assert not ended.is_alive()
    assert px4.exit_code is not None
