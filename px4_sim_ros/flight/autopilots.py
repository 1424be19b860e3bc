# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Autopilots: the embedded one, a PX4 that was built, or the user's own."""
from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import sys
import typing

from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.pilot.link import AUTOPILOT_PORT, pilot_port
from px4_sim_ros.link.ports import LOCAL, check_port_is_free
from px4_sim_ros.process import machine_locks
from px4_sim_ros.process.children import Child, own_module
from px4_sim_ros.px4 import boot_parameters
from px4_sim_ros.px4.sitl import (
    AGENT_PORT,
    CONSOLE,
    PARAMETER,
    Px4Process,
    check_run_folder,
    check_socket,
    new_run_folder,
)
from px4_sim_ros.spec.flight_spec import VehicleSpec
from px4_sim_ros.step.graph import TOPICS_OF_PX4


def claim(vehicles: typing.Sequence[VehicleSpec]) -> contextlib.ExitStack:
    """Let a flight have what it needs of this machine, before anything starts."""
    with machine_locks.claim_instances(vehicle.hil.instance for vehicle in vehicles) as held:
        for vehicle in vehicles:
            if vehicle.autopilot == 'px4':
                check_run_folder()
                check_socket(vehicle.hil.instance)
            check_ports(vehicle.hil, vehicle.autopilot, vehicle.mission is not None)
            if (port := _agent_port(vehicle)) is not None:
                check_port_is_free('UDP', LOCAL, port)
        return held.pop_all()


@functools.cache
def _say(remark: str) -> None:
    """Print a sentence once: a campaign starts many."""
    print(remark, file=sys.stderr, flush=True)


def check_ports(hil: HilParameters, autopilot: str, is_piloted: bool) -> None:
    """Check that the ports of a flight are free; of PX4, that of the pilot."""
    if not hil.line:
        check_port_is_free('TCP', hil.host, port_of(hil.instance))
    if is_piloted:
        check_port_is_free('UDP', LOCAL, pilot_port(hil.instance))
    if autopilot == 'embedded' or (autopilot == 'px4' and is_piloted):
        check_port_is_free('UDP', LOCAL, AUTOPILOT_PORT + hil.instance)


def start_autopilot(
    vehicle: VehicleSpec, folder: pathlib.Path,
    environment: typing.Mapping[str, str] | None = None, ros_home: pathlib.Path | None = None,
) -> Child:
    """Start the embedded autopilot, or PX4 in a folder of its own, with its console as a file.

    :param folder: for the vehicle as it was read, which the embedded autopilot flies
    :param environment: what PX4 finds there in addition, or instead
    :param ros_home: below which PX4's folder is; that of the user by default
    """
    configuration, px4, instance = vehicle.configuration, vehicle.px4, vehicle.hil.instance
    if px4 is None:
        return Child('the embedded autopilot', own_module(
            'px4_sim_ros.autopilot.process', '--instance', str(instance), '--vehicle',
            _vehicle_file(vehicle, folder)))
    run_folder = new_run_folder(instance, ros_home)
    print(f'PX4 runs in {run_folder}; its console is {CONSOLE} there', flush=True)
    # PX4 takes over the domain as a parameter: what it does then is another flight.
    left_out = 'ROS_DOMAIN_ID' if px4.repeats else ''
    ours = {name: value for name, value in os.environ.items()
            if name != left_out and not name.startswith(PARAMETER)}
    its, remarks = boot_parameters.environment(
        px4, configuration.vehicle, configuration.scenario)
    for remark in remarks:
        _say(remark)
    return Px4Process(
        px4, instance, {**ours, **_of_topics(vehicle), **its, **(environment or {})},
        run_folder)


def _agent_port(vehicle: VehicleSpec) -> int | None:
    """Return the UDP port of the agent of PX4's own topics, None for a flight without one."""
    if TOPICS_OF_PX4 in vehicle.configuration.nodes:
        from px4_sim_ros.link.xrce.block import TopicsParameters
        return vehicle.configuration.of_node(TOPICS_OF_PX4, TopicsParameters).its_port
    return AGENT_PORT + vehicle.hil.instance if vehicle.px4 and vehicle.px4.agent else None


def _of_topics(vehicle: VehicleSpec) -> dict[str, str]:
    """Return how the client of PX4's own topics finds its agent."""
    port = _agent_port(vehicle)
    if port is None:
        return {}
    # A stamp of PX4 is the time of its step: there is nothing to synchronise.
    return {'PX4_UXRCE_DDS_PORT': str(port), f'{PARAMETER}UXRCE_DDS_SYNCT': '0'}


def _vehicle_file(vehicle: VehicleSpec, folder: pathlib.Path) -> str:
    """Return a file with the text of a vehicle, or its name where there is no text."""
    text = vehicle.configuration.texts.vehicle
    if not text:
        return vehicle.configuration.world.vehicle
    path = folder / f'{vehicle.name or "vehicle"}.yaml'
    path.write_text(text, encoding='utf-8')
    return str(path)
