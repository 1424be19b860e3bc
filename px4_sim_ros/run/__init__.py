"""A run: PX4 and other processes, the hosts of the graph, launch."""
