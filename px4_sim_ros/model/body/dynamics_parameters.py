"""How the motion is integrated, and how full the battery is at the start."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.body.integrators import FIXED, INTEGRATOR_NAMES, check_substeps
from px4_sim_ros.model.parameters import Parameters, parameter


@dataclasses.dataclass(frozen=True)
class DynamicsParameters(Parameters):
    """How the motion is integrated, and how full the battery is at the start."""

    integrator: str = parameter(
        'integration method; euler and rk4 take equal steps, rk23 and rk45 choose theirs',
        choices=INTEGRATOR_NAMES)
    substeps: int = parameter(
        'integration steps of euler and rk4 in one step', minimum=1, maximum=1000)
    relative_tolerance: float = parameter(
        'error of a step of rk23 and rk45 per value', above=0, maximum=1)
    position_tolerance_m: float = parameter('least error that counts', 'm', above=0)
    velocity_tolerance_m_s: float = parameter('least error that counts', 'm/s', above=0)
    attitude_tolerance: float = parameter(
        'least error that counts, of a quaternion component', above=0)
    rate_tolerance_rad_s: float = parameter('least error that counts', 'rad/s', above=0)
    rotor_speed_tolerance_rad_s: float = parameter('least error that counts', 'rad/s', above=0)
    battery_tolerance: float = parameter(
        'least error that counts, of the share of charge and of volts', above=0)
    min_step_us: int = parameter(
        'a step of rk23 and rk45 this short is taken whatever its error', 'us', minimum=1)
    initial_charge: float = parameter(
        'share of its capacity in each pack at the start', minimum=0, maximum=1)

    def check_step(self, step_us: int) -> None:
        """Check that the substeps are whole microseconds, of a method that takes them.

        :raises ParameterError: naming the nearest valid values
        """
        if self.integrator in FIXED:
            check_substeps(step_us, self.substeps)
