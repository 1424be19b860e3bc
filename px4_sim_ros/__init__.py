"""The world around a PX4 autopilot, as ROS 2 nodes in lockstep."""
