# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands as a user does, and looks at what they leave behind."""
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import psutil
import pytest
import yaml

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.process.children import Child
from px4_sim_ros.recording.analysis.comparison import compare_bags
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.flight_spec import MODES
from px4_sim_ros.spec.resources import config_directory

# The niceness of whoever goes first.
_BEFORE_ALL = -20
# Another simulator.
OTHER_CLOCK = '''
import rclpy
from rosgraph_msgs.msg import Clock
rclpy.init()
node = rclpy.create_node('simulator')
clock = node.create_publisher(Clock, '/clock', 1)
print('publishes', flush=True)
rclpy.spin(node)
'''


def command(*words):
    return [sys.executable, '-m', 'px4_sim_ros', *map(str, words)]


def run(*words, timeout_s=240, env=None, cwd=None):
    """Run to the end; return the finished process with its texts."""
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=timeout_s,
                          env=env, cwd=cwd, check=False)


# A push flies some things in one mode only, and all at once in core and composed, in
# test_scene_flights; that nodes give the same bits is in test_equality.
IN_MODES = pytest.mark.parametrize(
    'modes', [MODES[:1], pytest.param(MODES, marks=pytest.mark.long)], ids=['core', 'all'])


def flown_in_modes(folder, instance, *words, modes=MODES):
    """Fly in each mode; return the recordings by mode, and how they compare with that of core.

    Fingerprints are the same, and so are all messages that are in both.
    """
    bags, fingerprints = {}, set()
    for mode in modes:
        start = here if mode == 'core' else run
        flown = start('fly', '--mode', mode, *words, '--record', mode, '--instance', instance,
                      cwd=folder)
        assert flown.returncode == 0, flown.stdout + flown.stderr
        fingerprints.add(re.search(r'^fingerprint +(\w+)', flown.stdout, re.M)[1])
        bags[mode] = BagReader(folder / mode)
    assert len(fingerprints) == 1
    compared = [compare_bags(bags['core'], bags[mode]) for mode in modes[1:]]
    assert all(found.identical for found in compared)
    return bags, compared


def replayed(folder, bag, *words):
    """Check that a replay gives the same bits."""
    again = here('replay', bag, *words, cwd=folder)
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.endswith('common messages are bit-identical\n')


def here(*words, cwd='.'):
    """Do the same in this process, which is faster, unless others are started by it.

    An embedded autopilot in core is in it as well, as in a campaign; a process of its own, on its
    link, it has in what `command` and `run` start.
    """
    from px4_sim_ros.cli import command_line, fly, refly

    def flight(spec, *arguments, made=fly.Flight):
        return made(dataclasses.replace(spec, in_process=spec.mode == 'core' and all(
            its.autopilot == 'embedded' for its in spec.vehicles)), *arguments)

    printed, said = io.StringIO(), io.StringIO()
    with (contextlib.chdir(cwd), contextlib.redirect_stdout(printed),
          contextlib.redirect_stderr(said), pytest.MonkeyPatch.context() as patched):
        for module in fly, refly:
            patched.setattr(module, 'Flight', flight)
        try:
            code = command_line.main([str(word) for word in words])
        except SystemExit as end:       # how argparse refuses
            code = end.code
    return subprocess.CompletedProcess(words, code, printed.getvalue(), said.getvalue())


def run_timed(*words, env=None):
    """Run to the end; return the finished process, and the seconds that it took by itself.

    Those in which it waited for a core, because others had all of them, do not count.
    """
    with tempfile.TemporaryFile('w+') as printed, tempfile.TemporaryFile('w+') as said:
        started_s = time.monotonic()
        process = subprocess.Popen(
            command(*words), stdout=printed, stderr=said, text=True, env=env)
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            took_s = time.monotonic() - started_s
            # Of the first thread, in nanoseconds: running, and waiting for a core.
            _, waited, _ = pathlib.Path(f'/proc/{process.pid}/schedstat').read_text().split()
        finally:
            process.kill()
            code = process.wait()
        texts = [file.seek(0) or file.read() for file in (printed, said)]
    return subprocess.CompletedProcess(words, code, *texts), took_s - 1e-9 * int(waited)


def write_hop(folder, up_m):
    """Write the shortest mission, up and down again; return its file."""
    file = folder / 'hop.yaml'
    file.write_text(f'name: hop\nitems:\n  - take_off: {{up_m: {up_m}}}\n  - land: {{}}\n')
    return file


def write_long_hover(folder, duration_s):
    """Write a mission that holds for a time, and an Iris whose battery lasts; return the files."""
    mission, vehicle = folder / 'hover.yaml', folder / 'iris_that_lasts.yaml'
    mission.write_text(json.dumps({'name': 'hover', 'items': [
        {'take_off': {'up_m': 5.0}}, {'hold': {'duration_s': duration_s}}, {'land': {}}]}))
    # With the pack that the file has an Iris hovers for twelve minutes.
    iris = yaml.safe_load((config_directory() / 'vehicles/iris.yaml').read_text())
    for pack in iris['battery']['packs']:
        pack['capacity_ah'] *= 1.0 + duration_s / 300.0
    vehicle.write_text(yaml.safe_dump(iris))
    return mission, vehicle


@contextlib.contextmanager
def running(words, output=subprocess.PIPE, stderr=subprocess.STDOUT, **options):
    """Start in a session of its own; afterwards nothing of it is left."""
    process = subprocess.Popen(
        words, stdout=output, stderr=stderr, text=True, start_new_session=True, **options)
    try:
        yield process
    finally:
        # Also when it has ended itself: what it left behind holds its output.
        kill_group(process.pid)
        process.communicate(timeout=60)


def wait_for_line(process, text, limit_s=240.0):
    """Read what a process prints up to a line with `text`; return all of it.

    :param limit_s: wall time after which it and what it has started are killed
    """
    lines = []
    limit = threading.Timer(limit_s, kill_group, [process.pid])
    limit.start()
    try:
        for line in process.stdout:
            lines.append(line)
            if text in line:
                return lines
    finally:
        limit.cancel()
    raise AssertionError(f'{text!r} was not printed:\n' + ''.join(lines))


def kill_group(pid):
    """Kill a process that leads its session, and all in it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def wait_for_ends(processes, count):
    """Wait until so many of these have ended; return them."""
    ended = []
    watched = {os.pidfd_open(process.pid): process for process in processes}
    while len(ended) < count:
        for number in select.select(list(watched), [], [])[0]:
            ended.append(watched.pop(number))
            ended[-1].wait()
            os.close(number)
    for number in watched:
        os.close(number)
    return ended


def family(pid):
    """Return the processes that a process has started, and theirs."""
    return psutil.Process(pid).children(recursive=True)


def addresses(processes):
    """Return the addresses of this machine at which processes can be reached."""
    return {socket.laddr.ip for process in processes for socket in process.net_connections()
            if not socket.raddr}


def steps_of(bag):
    """Return the messages of the step of a recording."""
    reader = BagReader(bag)
    return [m for m in reader.messages() if m.topic in reader.run.graph.topics]


def wait_gone(processes, timeout_s):
    """Return the processes that are still there after a time.

    One that has ended does not count, though nobody has asked for its exit code.
    """
    return [process for process in psutil.wait_procs(processes, timeout_s)[1]
            if not _has_ended(process)]


def _has_ended(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def port_is_free(instance):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(('127.0.0.1', port_of(instance))) != 0


def _go_first(pid):
    """Let a process and what it has started go before all others, where this user may.

    What they take then is theirs, whatever else this machine is about.
    """
    processes = []
    with contextlib.suppress(psutil.NoSuchProcess):
        processes = [pid, *(child.pid for child in family(pid))]
    for process in processes:
        with contextlib.suppress(OSError):           # it has ended, or that is not permitted
            for thread in os.listdir(f'/proc/{process}/task'):
                os.setpriority(os.PRIO_PROCESS, int(thread), _BEFORE_ALL)
            # Where sessions share the cores among each other (sched(7)).
            pathlib.Path(f'/proc/{process}/autogroup').write_text(str(_BEFORE_ALL))


def interrupt(process, number=signal.SIGINT):
    """Send a signal; return the seconds until the process has ended."""
    _go_first(process.pid)
    started_s = time.monotonic()
    process.send_signal(number)
    process.wait(30)
    return time.monotonic() - started_s


@contextlib.contextmanager
def flown_world(instance, speed_factor=2.0):
    """Run a graph with an autopilot at its side."""
    words = [sys.executable, '-m', 'px4_sim_ros.ros.world', '--ros-args',
             '-p', f'hil_bridge:instance:={instance}',
             '-p', f'manager:speed_factor:={speed_factor}']
    with running(words) as process:
        autopilot = Child('autopilot', [
            sys.executable, '-m', 'px4_sim_ros.autopilot.process', '--instance', str(instance)])
        try:
            wait_for_line(process, 'LOCKED')
            yield
        finally:
            autopilot.stop()
