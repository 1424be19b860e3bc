# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ports of a flight are looked at before it, and only those that it will use."""
import os
import socket

import pytest

from px4_sim_ros.autopilot.mavlink_interface import AUTOPILOT_PORT
from px4_sim_ros.flight.autopilots import check_ports
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.pilot.link import pilot_port
from px4_sim_ros.link.ports import PortTakenError
from px4_sim_ros.spec.parameter_files import default_parameters


def autopilot_port(instance):
    return AUTOPILOT_PORT + instance


# The port that is taken, the autopilot, whether there is a pilot, whether the flight is refused.
CASES = [
    (pilot_port, 'embedded', True, True), (pilot_port, 'px4', True, True),
    (pilot_port, 'none', True, True), (pilot_port, 'none', False, False),
    (autopilot_port, 'embedded', True, True), (autopilot_port, 'px4', True, True),
    (autopilot_port, 'px4', False, False),
    (autopilot_port, 'none', True, False)]


@pytest.mark.parametrize('port, autopilot, is_piloted, is_refused', CASES)
def test_a_port_that_a_flight_uses_is_named(port, autopilot, is_piloted, is_refused, instance):
    own = HilParameters.infos()
    hil = HilParameters.from_mapping('hil_bridge', {
        key: value for key, value in default_parameters('hil_bridge').items() if key in own
    } | {'instance': instance})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(('127.0.0.1', port(instance)))
        if not is_refused:
            check_ports(hil, autopilot, is_piloted)
            return
        with pytest.raises(PortTakenError) as error:
            check_ports(hil, autopilot, is_piloted)
    assert error.value.strerror.startswith(f'UDP port {port(instance)} is taken by ')
    assert f'(process {os.getpid()})' in error.value.strerror
