"""Air, gravity, magnetic field, wind and geodesy."""
