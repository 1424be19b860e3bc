"""Starting an autopilot: the embedded one, or a PX4 that was built."""
from __future__ import annotations

import os
import sys

from px4_sim_ros.config.vehicles_and_missions import load_vehicle
from px4_sim_ros.run.processes import Child
from px4_sim_ros.run.px4 import Px4, new_run_folder


def start_autopilot(
    px4: Px4 | None, vehicle: str, instance: int, *, log_in_folder: bool,
) -> Child:
    """Start the embedded autopilot, or PX4 in a folder of its own.

    :param log_in_folder: PX4's console goes to px4.log there, else to ours
    """
    if px4 is None:
        return Child('the embedded autopilot', [
            sys.executable, '-m', 'px4_sim_ros.autopilot.process', '--instance', str(instance),
            '--vehicle', vehicle])
    folder = new_run_folder(instance)
    console = '; its console is px4.log there' if log_in_folder else ''
    print(f'PX4 runs in {folder}{console}', flush=True)
    return Child(
        'PX4', px4.command(instance), folder=folder,
        log=folder / 'px4.log' if log_in_folder else None,
        environment=dict(os.environ) | _not_overridden(px4.environment(load_vehicle(vehicle))))


def _not_overridden(environment: dict[str, str]) -> dict[str, str]:
    """Return what of it the user has not set: PX4's parameters are the user's to choose."""
    return {name: value for name, value in environment.items()
            if not (name.startswith('PX4_PARAM_') and name in os.environ)}
