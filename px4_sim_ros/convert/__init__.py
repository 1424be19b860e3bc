"""Core values to and from standard ROS messages: pure functions, no nodes."""
