# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servers, peers and links that the tests of the MAVLink room share."""
from __future__ import annotations

import contextlib
import socket

import pytest
from stand_in_autopilot import HOST, TIME_LIMIT_S, StandInAutopilot

from px4_sim_ros.link.hil import battery_link
from px4_sim_ros.link.hil import server as hil_server
from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.link.hil.lockstep import Lockstep
from px4_sim_ros.link.hil.server import Deadline, HilServer, port_of
from px4_sim_ros.link.ports import bound_socket
from px4_sim_ros.model.sensors.imu import ImuMeasurement


@pytest.fixture
def little_room(monkeypatch):
    """Give sockets that are made from now on the least room for what a peer does not read."""
    def bound(*arguments):
        listener = bound_socket(*arguments)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        return listener
    monkeypatch.setattr(hil_server, 'bound_socket', bound)


@pytest.fixture
def server(instance):
    """Return a server that listens."""
    with contextlib.closing(HilServer(HOST, port_of(instance))) as server:
        yield server


@pytest.fixture
def connect(server, instance):
    """Return a function that connects one more peer."""
    peers = []

    def connected(**options) -> StandInAutopilot:
        peers.append(StandInAutopilot(port_of(instance), **options))
        return peers[-1]

    yield connected
    for peer in peers:
        peer.close()


class Link:
    """A lockstep with the frames that it sends."""

    def __init__(self, server: HilServer, step_us: int, parameters: HilParameters) -> None:
        self.lockstep = Lockstep(server, parameters, step_us)
        self._encoder = HilEncoder()

    @property
    def counts(self):
        """Return the troubles of the link, by name."""
        return self.lockstep.report.counts

    def take_sentences(self):
        """Return what the link has reported since the last call."""
        return [event.sentence for event in self.lockstep.report.take_events()]

    def begin(self, time_us):
        """Send a HIL_SENSOR of this time; return whether the autopilot has got an earlier one."""
        return self.lockstep.begin(time_us, self._frames(time_us))

    def exchange(self, time_us):
        """Exchange a HIL_SENSOR of this time."""
        return self.lockstep.exchange(time_us, self._frames(time_us))

    def _frames(self, time_us):
        """Return a HIL_SENSOR of this time."""
        zero = (0.0, 0.0, 0.0)
        imu = ImuMeasurement(time_us, (0.0, 0.0, 9.8), zero, 0.0, 0.0)
        return self._encoder.sensor(time_us, imu)

    def service_until(self, condition) -> None:
        """Service the idle link until a condition holds."""
        deadline = Deadline(TIME_LIMIT_S)
        while not condition():
            assert deadline.remaining_s
            self.lockstep.service_idle_link()

    @property
    def state(self) -> str:
        """Return the state of the link as a word."""
        return self.lockstep.state.value


@pytest.fixture
def make_link(server):
    """Return a function that makes a link with other parameters than the quick ones here."""
    def made(*, step_us=4000, **changes) -> Link:
        # The stand-in is system 1, whichever port is free.
        values = dict(host=HOST, instance=0, reply_timeout_s=0.1, freewheel_pause_s=0.001,
                      on_waiting='hold', on_stall='continue', shares_core=False, satellites=10)
        return Link(server, step_us, HilParameters.from_mapping('hil_bridge', values | changes))
    return made


@pytest.fixture
def make_locked(make_link, connect):
    """Return a function that makes a link and a peer, locked at 4 ms."""
    def made(**changes):
        link, peer = make_link(**changes), connect()
        peer.reply(4000)
        assert link.exchange(4000).time_us == 4000
        assert link.state == 'LOCKED'
        return link, peer
    return made


@pytest.fixture
def px4(monkeypatch):
    """Return a socket in the place of PX4's, for instance 3."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((HOST, 0))
        listener.settimeout(5.0)
        monkeypatch.setattr(battery_link, 'PAYLOAD_PORT', listener.getsockname()[1] - 3)
        yield listener
