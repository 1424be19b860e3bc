# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A PX4 that was killed leaves a socket, which no PX4 of another user can replace, and a lock."""
import os
import pathlib
import re
import resource
import socket

import pytest

from px4_sim_ros.autopilot.mavlink_interface import AUTOPILOT_PORT
from px4_sim_ros.flight.autopilots import check_ports
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.pilot.link import pilot_port
from px4_sim_ros.link.ports import PortTakenError
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4 import memory
from px4_sim_ros.px4 import sitl as px4
from px4_sim_ros.px4.sitl import Px4, Px4Process, check_socket
from px4_sim_ros.spec.parameter_files import default_parameters


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(px4, '_FOLDER', tmp_path)
    return tmp_path / 'px4-sock-3'


def serve(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def test_that_of_a_px4_that_runs_stays(path):
    check_socket(3)          # there is none
    with serve(path):
        with pytest.raises(ParameterError, match='instance = 3: must be one that no other PX4 '):
            check_socket(3)
        assert path.exists()
    check_socket(3)
    assert not path.exists()


def test_that_of_another_user_is_one_sentence(path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError

    serve(path).close()
    monkeypatch.setattr(pathlib.Path, 'unlink', refuse)
    with pytest.raises(ParameterError, match=(
            rf'^instance = 3: {re.escape(str(path))} belongs to the PX4 of another user; remove it'
            ' if that does not run, or choose another instance$')):
        check_socket(3)


def test_one_that_has_ended_leaves_nothing(path, tmp_path):
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin' / 'px4').symlink_to('/bin/true')
    lock = tmp_path / 'px4_lock-3'
    lock.touch()
    with serve(path):      # another PX4 has the instance
        Px4Process(Px4(tmp_path, 'all-cores'), 3, os.environ, tmp_path).stop()
        assert path.exists() and lock.exists()
    Px4Process(Px4(tmp_path, 'all-cores'), 3, os.environ, tmp_path).stop()
    assert not path.exists() and not lock.exists()


# A machine on which a repeatable PX4 may have to wait for the disk is named before the start.

NO_CAPABILITY, IPC_LOCK = 'CapEff:\t0000000000000000\n', 'CapEff:\t0000000000004000\n'
ENOUGH_BYTES = 100_000 * 1024


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Return a function that returns what is said of a machine."""
    def remarks(limit=ENOUGH_BYTES, capabilities=NO_CAPABILITY, folder=tmp_path):
        (tmp_path / 'status').write_text(f'Name:\tpython\n{capabilities}')
        monkeypatch.setattr(memory, '_STATUS', tmp_path / 'status')
        monkeypatch.setattr(memory, 'MEMORY', folder)
        monkeypatch.setattr(resource, 'getrlimit', lambda which: (limit, limit))
        return memory.remarks()
    return remarks


def test_a_machine_that_permits_all_is_not_spoken_of(found):
    assert found() == found(resource.RLIM_INFINITY) == found(0, IPC_LOCK) == []


def test_too_little_memory_that_may_be_kept_is_told(found):
    sentence, = found(8192 * 1024)
    assert sentence.startswith(
        'px4_schedule = repeatable: this user may keep 8192 kB in memory, and')


def test_no_folder_in_memory_is_told(found, tmp_path):
    sentence, = found(folder=tmp_path / 'none')
    assert f'nothing can be written to {tmp_path / "none"}, so that PX4 waits' in sentence


# Ports of a flight are looked at before it, and only those that it will use.


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
