"""What recordings say: comparison, events, errors, integrator study."""
