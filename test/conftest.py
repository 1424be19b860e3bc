"""What all tests share: a ROS domain of their own, and processes that are always ended."""
import fcntl
import os
import pathlib
import sys
import tempfile

import pytest


def _own_domain():
    """Return a ROS domain that no other run of the tests on this machine uses, and its lock."""
    for domain in range(10, 50):
        path = pathlib.Path(tempfile.gettempdir()) / f'px4_sim_ros_domain_{domain}'
        lock = path.open('w')      # held to the end of the run
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError('all ROS domains for tests are in use')


# Before rclpy is imported anywhere. A run never meets a user's own graph, nor another run.
_DOMAIN, _DOMAIN_LOCK = _own_domain()
os.environ['ROS_DOMAIN_ID'] = str(_DOMAIN)

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Tests that use ROS, and their children, find each other as the commands do.
os.environ.setdefault('FASTRTPS_DEFAULT_PROFILES_FILE', str(ROOT / 'config' / 'fastdds.xml'))
# Child processes import the package as well.
os.environ['PYTHONPATH'] = os.pathsep.join(
    [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])


def pytest_configure(config):
    """Compile what is compiled once on a machine, so that no test has to wait for it."""
    if not hasattr(config, 'workerinput'):
        from px4_sim_ros.config.compile_ahead import compile_motion
        compile_motion()


@pytest.fixture
def instance():
    """Return an instance whose ports nobody uses, nor another worker of this run."""
    from px4_sim_ros.bench.kinds import is_free
    worker = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw')) % 2
    return next(i for i in range(60 + 6 * worker, 66 + 6 * worker) if is_free(i))
