# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ports of this machine: who has one that is taken, and those of ordinary MAVLink."""
from __future__ import annotations

import contextlib
import errno
import socket

import psutil


class PortTakenError(OSError):
    """A port is in use by another process."""


def port_taken(protocol: str, port: int) -> PortTakenError:
    """Return the error that names a port and, where the system shows it, its holder.

    :param protocol: `TCP`, of which whoever listens has a port, or `UDP`
    """
    return PortTakenError(
        errno.EADDRINUSE, f'{protocol} port {port} is taken by {_holder_of(protocol, port)};'
        ' stop it or choose another instance')


def _holder_of(protocol: str, port: int) -> str:
    """Return which process has a port, as far as the system shows it."""
    state = psutil.CONN_LISTEN if protocol == 'TCP' else psutil.CONN_NONE
    for connection in psutil.net_connections(protocol.lower()):
        if connection.status == state and connection.laddr and connection.laddr.port == port:
            if connection.pid is None:
                return 'a process of another user'
            with contextlib.suppress(psutil.NoSuchProcess):      # it has just ended
                return f'{psutil.Process(connection.pid).name()} (process {connection.pid})'
    return 'a process that the system does not name'


def bound_udp_socket(port: int) -> socket.socket:
    """Return a socket that receives what comes to a port of this machine.

    :raises PortTakenError: naming the port and, where the system shows it, its holder
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        bound.bind(('127.0.0.1', port))
    except OSError as error:
        bound.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise port_taken('UDP', port) from error
    return bound


def check_udp_port_is_free(port: int) -> None:
    """Check that the port can be bound.

    :raises PortTakenError: naming the port and, where the system shows it, its holder
    """
    bound_udp_socket(port).close()
