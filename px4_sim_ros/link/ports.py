# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ports of this machine: binding them, and who has one that is taken."""
from __future__ import annotations

import contextlib
import errno
import socket

LOCAL = '127.0.0.1'
_KINDS = {'TCP': socket.SOCK_STREAM, 'UDP': socket.SOCK_DGRAM}


class PortTakenError(OSError):
    """A port is in use by another process."""

    def __str__(self) -> str:
        """Return the sentence without the number, for programs that print what they catch."""
        return str(self.strerror)


def _port_taken(protocol: str, port: int) -> PortTakenError:
    """Return the error that names a port and, where the system shows it, its holder."""
    return PortTakenError(
        errno.EADDRINUSE, f'{protocol} port {port} is taken by {_holder_of(protocol, port)};'
        ' stop it or choose another instance')


def _holder_of(protocol: str, port: int) -> str:
    """Return which process has a port, as far as the system shows it."""
    import psutil  # it takes a while, and a port is seldom taken
    state = psutil.CONN_LISTEN if protocol == 'TCP' else psutil.CONN_NONE
    for connection in psutil.net_connections(protocol.lower()):
        if connection.status == state and connection.laddr and connection.laddr.port == port:
            if connection.pid is None:
                return 'a process of another user'
            with contextlib.suppress(psutil.NoSuchProcess):      # it has just ended
                return f'{psutil.Process(connection.pid).name()} (process {connection.pid})'
    return 'a process that the system does not name'


def bound_socket(protocol: str, host: str, port: int) -> socket.socket:
    """Return a socket with a port of its own; the caller still has to listen on it."""
    bound = socket.socket(socket.AF_INET, _KINDS[protocol])
    if protocol == 'TCP':       # also shortly after another socket has listened there
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        if error.errno != errno.EADDRINUSE:
            raise OSError(
                error.errno, f'cannot listen on {host}:{port}: {error.strerror}') from error
        raise _port_taken(protocol, port) from error
    return bound


def check_port_is_free(protocol: str, host: str, port: int) -> None:
    """Check that the port can be bound, without listening.

    A PX4 that already waits must not connect to a check: it never connects a second time.

    :raises PortTakenError: naming the port and, where the system shows it, its holder
    """
    bound_socket(protocol, host, port).close()
