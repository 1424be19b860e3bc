"""The motion of a vehicle: equations, forces, integrators, battery."""
