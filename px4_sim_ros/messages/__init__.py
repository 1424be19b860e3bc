"""Values to and from standard ROS messages, as bytes."""
