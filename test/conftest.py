# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: a ROS domain of their own, and processes that are always ended."""
import contextlib
import fcntl
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import instances
import locks
import longest_first
import pytest

from px4_sim_ros.process import blas_threads
from px4_sim_ros.spec import ros_environment

# Before NumPy is imported, here and in what a test starts.
blas_threads.choose()


def _own_domain():
    """Return a ROS domain that no other run of the tests on this machine uses, and its lock."""
    for domain in range(10, 50):
        if lock := locks.lock(f'domain_{domain}'):      # held to the end of the run
            return domain, lock
    raise RuntimeError('all ROS domains for tests are in use')


_STARTED_S = time.monotonic()
# Of the calibration loop at the end: how often it is timed for how long, of which the least counts,
# since others may work on the machine; and what it takes on the machine of the bounds.
_CALIBRATIONS, _CALIBRATION_S, _REFERENCE_US = 200, 0.002, 64.0

# A run starts hundreds of processes: without this each of them would compile the package for
# itself, on a machine whose owner does not want to see bytecode.
os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
sys.dont_write_bytecode = False

# A shell without job control lets what it starts in the background ignore Ctrl-C, and that is
# inherited: what tests interrupt would go on.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Before rclpy is imported anywhere. A run never meets a user's own graph, nor another run.
_DOMAIN, _DOMAIN_LOCK = _own_domain()
os.environ['ROS_DOMAIN_ID'] = str(_DOMAIN)

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Tests that use ROS, and their children, find each other as the commands do.
os.environ.setdefault(*ros_environment.profile())
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT'
# Child processes import the package as well.
os.environ['PYTHONPATH'] = os.pathsep.join(
    [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])


def pytest_configure(config):
    """Begin to compile what is compiled once on a machine, while the workers look for tests.

    Python's collector is away meanwhile. The tests and all that they import stay to the end: it
    would look at this half million of objects again and again, also when a test asks for it.

    `colcon test` runs the tests one at a time: by itself only those that start no processes.
    """
    from px4_sim_ros.process import gc_control
    gc_control.hold()
    if 'COLCON' in os.environ and not config.option.markexpr:
        config.option.markexpr = 'unit'
    if not hasattr(config, 'workerinput'):
        from px4_sim_ros.spec.compile_ahead import not_compiled
        for name in not_compiled():
            compiler = subprocess.Popen(
                [sys.executable, '-m', 'px4_sim_ros.spec.compile_ahead', name], cwd=ROOT)
            config.add_cleanup(compiler.wait)


@pytest.hookimpl(tryfirst=True)        # a worker has one that runs its tests
def pytest_runtestloop():
    """Wait for it, so that no test has to."""
    from px4_sim_ros.process import gc_control
    from px4_sim_ros.spec.compile_ahead import compile_ahead
    gc_control.release()
    compile_ahead()


_LAYERS = 'process', 'slow', 'px4', 'long'


def pytest_itemcollected(item):
    """Mark what is in no other layer."""
    if not any(map(item.get_closest_marker, _LAYERS)):
        item.add_marker('unit')


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with the files that take longest; xdist is told to leave it at that."""
    longest_first.sort(items)
    if not os.environ.get('LONG'):
        items[:] = [item for item in items if not item.get_closest_marker('long')]
    if not os.environ.get('PX4_DIR'):
        for item in (item for item in items if item.get_closest_marker('px4')):
            item.add_marker(pytest.mark.skip('PX4_DIR does not point to a built PX4'))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Say what a run with workers has cost, in units of this machine."""
    if not getattr(config.option, 'numprocesses', None):
        return
    from benchmarks.machine import calibration_us
    wall_s = time.monotonic() - _STARTED_S
    spent_s = sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    loop_us = min(calibration_us(_CALIBRATION_S) for _ in range(_CALIBRATIONS))
    terminalreporter.write_line(
        f'{wall_s:.0f} s of wall time, {spent_s:.0f} core-seconds; a calibration loop:'
        f' {loop_us:.0f} us; with one of {_REFERENCE_US:.0f} us they would be'
        f' {spent_s * _REFERENCE_US / loop_us:.0f} core-seconds')


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Let one test at a time fly a PX4; what it waits for that is no part of its time limit.

    PX4s are on one core where there are two, and one that repeats itself leaves nothing of it.
    """
    with contextlib.ExitStack() as stack:
        if os.environ.get('PX4_DIR') and item.get_closest_marker('px4'):
            lock = stack.enter_context(locks.lock_file('px4'))
            fcntl.flock(lock, fcntl.LOCK_EX)
        return (yield)


@pytest.fixture
def free_instances():
    """Return an iterator over instances that nobody uses, nor another worker or run of tests."""
    with instances.free() as found:
        yield found


@pytest.fixture
def instance(free_instances):
    """Return an instance whose ports nobody uses."""
    return next(free_instances)


@pytest.fixture
def other_instance(free_instances):
    """Return one for a second simulator beside the first."""
    return next(free_instances)


@pytest.fixture
def domains():
    """Return a function that returns further ROS domains that nobody else uses."""
    with contextlib.ExitStack() as held:
        def another():
            domain, lock = _own_domain()
            held.enter_context(lock)
            return domain
        yield another


@pytest.fixture
def foreground():
    """Let what a test starts end with its terminal, also if `nohup` keeps the tests from that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def here():
    """Return a function that runs a command in this process, which is faster."""
    from commands import here
    return here


@pytest.fixture(autouse=True)
def handlers_of_signals():
    """Check that a test leaves the handlers of signals as they were; others start processes."""
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    before = [signal.getsignal(number) for number in numbers]
    yield
    after = [signal.getsignal(number) for number in numbers]
    for number, handler in zip(numbers, before):
        signal.signal(number, handler)
    assert after == before
