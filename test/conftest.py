"""What all tests share: a ROS domain of their own, and processes that are always ended."""
import os
import pathlib
import sys

# Before rclpy is imported anywhere. A run of the tests never meets a user's own graph, nor
# another run on the same machine.
os.environ['ROS_DOMAIN_ID'] = str(101 + os.getpid() % 100)
os.environ.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Child processes import the package as well.
os.environ['PYTHONPATH'] = os.pathsep.join(
    [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])])
