"""The TCP server that PX4 connects to: one client, no call that blocks without a bound."""
from __future__ import annotations

import errno
import select
import socket
import time

import psutil

FIRST_PORT = 4560
_RECEIVE_BYTES = 65536


class PortTakenError(OSError):
    """The port of the link is in use by somebody else."""


def port_of(instance: int) -> int:
    """Return the TCP port that PX4 instance `instance` connects to."""
    return FIRST_PORT + instance


def holder_of(port: int) -> str:
    """Return who listens on a TCP port, as far as the system tells."""
    for connection in psutil.net_connections('tcp'):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
            if connection.pid is None:
                return 'a process of another user'
            return f'{psutil.Process(connection.pid).name()} (process {connection.pid})'
    return 'a process that the system does not name'


def _bound_socket(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        if error.errno != errno.EADDRINUSE:
            raise OSError(
                error.errno, f'cannot listen on {host}:{port}: {error.strerror}') from error
        raise PortTakenError(
            error.errno, f'TCP port {port} is taken by {holder_of(port)}; stop it or choose'
            ' another instance') from error
    return bound


class HilServer:
    """Listens on one port and serves one client at a time."""

    def __init__(self, host: str, port: int) -> None:
        """Start to listen.

        :raises PortTakenError: naming the port and, where the system tells, its holder
        """
        self._client: socket.socket | None = None
        self._unsent = b''
        self.dropped_sends = 0
        self._listener = _bound_socket(host, port)
        self._listener.listen(1)
        self._listener.setblocking(False)

    @property
    def connected(self) -> bool:
        """Whether a client is connected, as far as is known."""
        return self._client is not None

    def accept(self, timeout_s: float = 0.0) -> bool:
        """Take the next client, waiting at most `timeout_s`; return whether there is one."""
        if self._client is None and select.select([self._listener], [], [], timeout_s)[0]:
            try:
                self._client, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return False   # it went away between the two calls
            self._client.setblocking(False)
            self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._unsent = b''
        return self.connected

    def send(self, data: bytes) -> None:
        """Send without waiting; what a client that does not read has no room for is dropped.

        Frames are never cut: the rest of one that was sent in part goes first.
        """
        if self._client is None:
            return
        if self._unsent:
            self.dropped_sends += 1
            data = self._unsent
        try:
            sent = self._client.send(data)
        except BlockingIOError:
            sent = 0
            if data is not self._unsent:
                self.dropped_sends += 1
                data = b''
        except OSError:
            self.drop_client()
            return
        self._unsent = data[sent:]

    def receive(self, timeout_s: float) -> bytes:
        """Return what the client sent, waiting at most `timeout_s`; empty when nothing came.

        Afterwards `connected` is false if the client went away.
        """
        if self._client is None:
            return b''
        try:
            if not select.select([self._client], [], [], timeout_s)[0]:
                return b''
            data = self._client.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return b''
        except OSError:
            data = b''
        if not data:
            self.drop_client()
        return data

    def drop_client(self) -> None:
        """Close the connection; the next client can be accepted."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def close(self) -> None:
        """Close everything and free the port."""
        self.drop_client()
        self._listener.close()


def check_port_is_free(host: str, port: int) -> None:
    """Check that the port can be listened on, without listening.

    A PX4 that already waits must not connect to a check: it never connects a second time.

    :raises PortTakenError: naming the port and, where the system tells, its holder
    """
    _bound_socket(host, port).close()


class Deadline:
    """A wall-clock bound that several waits share."""

    def __init__(self, timeout_s: float) -> None:
        self._end_s = time.monotonic() + timeout_s

    @property
    def remaining_s(self) -> float:
        """Seconds left, not below 0."""
        return max(0.0, self._end_s - time.monotonic())
