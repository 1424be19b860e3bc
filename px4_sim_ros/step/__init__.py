"""The step of the simulation: blocks, the graph table, what is due, the runner."""
