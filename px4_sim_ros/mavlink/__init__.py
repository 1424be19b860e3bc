"""MAVLink: the HIL link to an autopilot, and a pilot that commands it."""
