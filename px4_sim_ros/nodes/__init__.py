"""ROS nodes: wiring between topics and the models, and nothing else."""
