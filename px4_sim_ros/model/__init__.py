"""The world as mathematics: no ROS, no sockets, no wall clock."""
