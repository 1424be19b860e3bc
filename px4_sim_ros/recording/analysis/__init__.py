"""Analysis of recordings: comparison, events, sensor errors, integrator study."""
