"""The benchmark: what a step costs, where, and how near to the ceiling that is."""
