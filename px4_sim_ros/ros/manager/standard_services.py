# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The services of the package `simulation_interfaces` on the manager, beside its own.

To be imported where that package is installed, version 2.0 or newer. It recommends no names:
these are those of other simulators, such as Isaac Sim and O3DE.
"""
from __future__ import annotations

import pathlib
import typing

from px4_sim_ros.ros.framework.block_host import BlockHost
from px4_sim_ros.ros.framework.polling import LongServices
from px4_sim_ros.ros.manager.standard_control import StandardControl, StandardEntities
from px4_sim_ros.step.clock import LockstepClock

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.manager.manager import ManagerNode


class StandardServices:
    """Joins `StandardControl` and `StandardEntities`."""

    def __init__(self, manager: ManagerNode, host: BlockHost, clock: LockstepClock) -> None:
        """Offer the services."""
        services = LongServices(manager)
        name = pathlib.PurePath(manager.get_parameter('vehicle').value).stem
        self._entities = StandardEntities(
            manager, manager, host, manager.vehicle_control, name, services)
        self._control = StandardControl(
            manager, manager, clock, manager.control, manager.run_status, services,
            self._entities.features)
