"""The world around a PX4 autopilot, as ROS 2 nodes in lockstep."""
__version__ = '0.1.0'
