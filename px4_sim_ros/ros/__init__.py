"""All that runs on rclpy: nodes, executor, manager, recorder, players, visualizer."""
