"""What a viewer shows of a vehicle and its flight: no running ROS, no window."""
