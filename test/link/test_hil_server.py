# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The TCP server: who holds the port, one client at a time, nothing that blocks or cuts."""
from __future__ import annotations

import collections
import contextlib
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import pytest
from pymavlink.dialects.v20 import common as mavlink
from stand_in_autopilot import HOST, TIME_LIMIT_S, StandInAutopilot

from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.server import Deadline, HilServer, port_of
from px4_sim_ros.link.ports import PortTakenError, check_port_is_free
from px4_sim_ros.model.sensors.imu import ImuMeasurement

HOLDER = """
import socket, sys
holder = socket.create_server(('127.0.0.1', int(sys.argv[1])))
print('listening', flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=['asleep', 'awake'])
def server(request, instance):
    """Return a server that sleeps while it waits, and one that does not at first."""
    server = HilServer(HOST, port_of(instance), stays_awake=request.param == 'awake')
    server.counts = collections.Counter()
    server.count = lambda trouble, sentence: server.counts.update([trouble])
    yield server
    server.close()


@pytest.fixture
def greeted(server, connect):
    """Return a server with its client, which has greeted."""
    peer = connect()
    assert server.accept(TIME_LIMIT_S)
    assert server.receive(TIME_LIMIT_S)
    return server, peer


@contextlib.contextmanager
def many_open_files(count):
    """Have so many files open that the next one has a number that `select` does not take."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 2 * count:
        pytest.skip('so many files may not be open')
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * count, most))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (before, most))
        for _ in range(count):
            stack.enter_context(open(os.devnull, 'rb'))
        yield


def test_a_server_among_many_open_files_takes_its_client(instance):
    with many_open_files(1024), contextlib.closing(HilServer(HOST, port_of(instance))) as server:
        peer = StandInAutopilot(port_of(instance))
        assert server.accept(TIME_LIMIT_S)
        peer.close()


# The port

def test_instance_chooses_the_port():
    """As PX4 does."""
    assert (port_of(0), port_of(7)) == (4560, 4567)


def test_port_taken_by_this_process(server, instance):
    """The sentence names port, holder and remedy."""
    with pytest.raises(PortTakenError) as error:
        HilServer(HOST, port_of(instance))
    sentence = str(error.value)
    assert sentence.startswith(f'TCP port {port_of(instance)} is taken by')
    assert f'(process {os.getpid()})' in sentence
    assert 'another instance' in sentence and '\n' not in sentence


@pytest.mark.process
def test_port_taken_by_another_process(instance):
    """The holder is found by its process id."""
    with subprocess.Popen(
            [sys.executable, '-c', HOLDER, str(port_of(instance))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == 'listening\n'
        with pytest.raises(PortTakenError, match=rf'\(process {holder.pid}\)'):
            check_port_is_free('TCP', HOST, port_of(instance))
        holder.stdin.close()
    check_port_is_free('TCP', HOST, port_of(instance))


def test_an_address_of_another_machine(instance):
    """Not to be mistaken for a port that is taken."""
    with pytest.raises(OSError, match='cannot listen on 192') as error:
        HilServer('192.0.2.1', port_of(instance))
    assert not isinstance(error.value, PortTakenError)


def test_close_frees_the_port(greeted, instance):
    """At once, though a client was connected; the client sees the end."""
    server, peer = greeted
    server.close()
    check_port_is_free('TCP', HOST, port_of(instance))
    assert peer.socket.recv(100) == b''


# One client

def test_accept_times_out(server):
    """It waits, but not for ever."""
    started_s = time.monotonic()
    assert not server.accept(0.05)
    assert time.monotonic() - started_s >= 0.05
    assert not server.connected
    assert not server.accept()


def test_nobody_is_connected(server):
    """Nothing to send to, nothing to receive."""
    server.send(b'nobody hears it')
    assert server.receive(0.0) == b''
    assert server.counts['dropped_sends'] == 0


def test_receive_times_out(greeted):
    """A silent client stays connected."""
    server, _ = greeted
    started_s = time.monotonic()
    assert server.receive(0.05) == b''
    assert time.monotonic() - started_s >= 0.05
    assert server.connected


@pytest.mark.parametrize('how', ['close', 'reset'])
def test_the_client_goes_and_the_next_comes(greeted, connect, how):
    """The end of file and the reset are both noticed; nothing has to be restarted."""
    server, peer = greeted
    getattr(peer, how)()
    assert server.receive(TIME_LIMIT_S) == b''
    assert not server.connected
    connect()
    assert server.accept(TIME_LIMIT_S)
    assert server.receive(TIME_LIMIT_S).startswith(b'\xfd')


def test_sending_to_a_client_that_is_gone(greeted):
    """No error reaches the caller."""
    server, peer = greeted
    peer.reset()
    for _ in range(3):
        server.send(b'x' * 1000)
    server.receive(TIME_LIMIT_S)
    assert not server.connected


# A second client

def receive_until_refused(server, number):
    """Return what the first client sent until so many others have been refused."""
    received, deadline = b'', Deadline(TIME_LIMIT_S)
    while server.counts['refused_clients'] < number:
        assert deadline.remaining_s
        received += server.receive(deadline.remaining_s)
    return received


def test_a_second_client_gets_a_reason_and_is_refused(greeted, connect):
    """One sentence, the end of file, and the first one is served on."""
    server, first = greeted
    sentences, count = [], server.count
    server.count = lambda trouble, sentence: (count(trouble, sentence), sentences.append(sentence))
    second = connect()
    first.send(b'from the first')
    assert receive_until_refused(server, 1) == b'from the first'
    server.send(b'to the first')
    assert first.socket.recv(100) == b'to the first'
    assert sentences == [f'a second autopilot from {second.address} was refused; one is connected'
                         ' already']
    message, = second.messages()
    assert message.get_type() == 'STATUSTEXT'
    assert message.text == 'This simulator already serves an autopilot'
    assert message.severity == mavlink.MAV_SEVERITY_ERROR
    assert second.socket.recv(100) == b''
    connect()
    assert receive_until_refused(server, 2) == b''


def test_a_second_client_that_is_gone_already(greeted, connect):
    """Nor do those who reset the connection disturb the first."""
    server, first = greeted
    connect().reset()
    connect().close()
    receive_until_refused(server, 2)
    first.send(b'from the first')
    assert server.receive(TIME_LIMIT_S) == b'from the first'
    assert server.connected


@pytest.mark.parametrize('last_words', [b'', b'last words'])
def test_the_next_client_is_no_second_one(greeted, connect, last_words):
    """The first has ended before it connected, though that was not read yet."""
    server, first = greeted
    first.send(last_words)
    first.close()
    connect()
    received, deadline = b'', Deadline(TIME_LIMIT_S)
    while server.connected:
        assert deadline.remaining_s
        received += server.receive(deadline.remaining_s)
    assert received == last_words
    assert server.accept(TIME_LIMIT_S)
    assert server.receive(TIME_LIMIT_S).startswith(b'\xfd')
    assert server.counts['refused_clients'] == 0


# A retired client

def test_a_retired_client_is_kept(greeted):
    """It is not served, but can be sent something."""
    server, peer = greeted
    server.retire_client()
    assert server.retired and not server.connected
    peer.send(b'anybody there?')
    assert not server.accept(0.05)
    assert server.receive(0.0) == b''
    server.send(b'no')
    assert peer.socket.recv(100) == b'no'
    assert server.retired


def test_retiring_nobody(server):
    """Nothing to keep."""
    server.retire_client()
    assert not server.retired and not server.connected


@pytest.mark.parametrize('how', ['close', 'reset'])
def test_a_retired_client_goes(greeted, connect, how):
    """Then no client is left; the next one is served."""
    server, peer = greeted
    server.retire_client()
    getattr(peer, how)()
    deadline = Deadline(TIME_LIMIT_S)
    while server.retired:
        assert deadline.remaining_s
        assert not server.accept(deadline.remaining_s)
    connect()
    assert server.accept(TIME_LIMIT_S)
    assert server.receive(TIME_LIMIT_S).startswith(b'\xfd')


def test_the_next_client_takes_the_place_of_a_retired_one(greeted, connect):
    """It is the one who was waited for; the old one sees the end."""
    server, old = greeted
    server.retire_client()
    new = connect()
    assert server.accept(TIME_LIMIT_S)
    assert server.connected and not server.retired
    assert old.socket.recv(100) == b''
    server.send(b'to the new one')
    assert new.socket.recv(100) == b'to the new one'
    assert server.counts['refused_clients'] == 0


# A client that does not read

def burst(number, frames):
    """Return so many frames of one length with one time, which numbers the burst."""
    encoder = HilEncoder()
    imu = ImuMeasurement(number, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 0.0, 0.0)
    return b''.join(encoder.sensor(imu.time_us, imu) for _ in range(frames))


class StrictReader:
    """Reads what a peer has been sent; a cut frame is an error."""

    def __init__(self, peer) -> None:
        peer.socket.setblocking(False)
        self._socket = peer.socket
        self._parser = mavlink.MAVLink(None)      # raises at a byte that is not part of a frame
        self.times: list[int] = []

    def read(self):
        """Read all that is there."""
        with contextlib.suppress(BlockingIOError):
            while data := self._socket.recv(65536):
                self.times += [m.time_usec for m in self._parser.parse_buffer(data) or ()]


@pytest.mark.parametrize('frames', [1, 3000])
def test_a_client_that_does_not_read(server, connect, frames):
    """Sending never blocks; what has no room is dropped as a whole and counted."""
    peer = connect(receive_buffer=65536)
    assert server.accept(TIME_LIMIT_S)
    # Of itself the kernel makes room for megabytes, which takes long to fill.
    server._client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    sends = 0
    watchdog = threading.Timer(3 * TIME_LIMIT_S, peer.reset)  # ends a send that blocks
    watchdog.start()
    while server.counts['dropped_sends'] < 20:
        assert server.connected
        server.send(burst(sends, frames))
        sends += 1
    watchdog.cancel()
    reader = StrictReader(peer)
    dropped, last, deadline = server.counts['dropped_sends'], sends, Deadline(TIME_LIMIT_S)
    while last not in reader.times:
        assert deadline.remaining_s, 'the link has not come back'
        reader.read()
        server.send(burst(last, 1))
    numbers = [t for t in reader.times if t != last]
    assert numbers == sorted(numbers)
    assert collections.Counter(numbers) == dict.fromkeys(numbers, frames)
    assert len(set(numbers)) == sends - dropped


def test_what_is_still_on_its_way_is_known(server, connect):
    assert server.is_delivered       # nobody is there
    peer = connect(receive_buffer=4096)
    assert server.accept(TIME_LIMIT_S)
    while server.counts['dropped_sends'] < 2:
        server.send(burst(1, 3000))
    assert not server.is_delivered
    reader, deadline = StrictReader(peer), Deadline(TIME_LIMIT_S)
    while not server.is_delivered:
        assert deadline.remaining_s, 'it has not come'
        reader.read()
        server.send(b'')             # the rest of a frame goes first
    reader.read()


# Deadlines

def test_deadline_never_goes_below_zero():
    """It is handed to select as a timeout."""
    assert Deadline(-1.0).remaining_s == 0.0
    assert 0.0 < Deadline(100.0).remaining_s <= 100.0
