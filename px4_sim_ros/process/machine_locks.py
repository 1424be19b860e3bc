# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Names that one process of a machine holds, and who that is.

The kernel frees a name when its process ends, however it ends. Names are Linux's abstract sockets:
they are seen from where the ports of this machine are seen, and leave no file.
"""
from __future__ import annotations

import contextlib
import errno
import socket
import struct
import typing

from px4_sim_ros.model.errors import ParameterError

# As many as have asked and were refused; none of them is ever served.
_BACKLOG = 4096
_CREDENTIALS = struct.Struct('3i')     # process, user, group


def hold(name: str) -> socket.socket | None:
    """Lock a name as long as the socket is open; return None if another process has it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(_address(name))
        held.listen(_BACKLOG)
    except OSError as error:
        held.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return held


def is_held(name: str) -> bool:
    """Return whether the name is locked at this moment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        return asking.connect_ex(_address(name)) != errno.ECONNREFUSED


def holder(name: str) -> str:
    """Return the process that holds a name, such as ` (process 4711)`; '' if that is not known."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(name))
        except OSError:
            return ''
        credentials = asking.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process = _CREDENTIALS.unpack(credentials)[0]
    return f' (process {process})' if process else ''


def _address(name: str) -> str:
    return f'\0px4_sim_ros/{name}'


# An instance is of one flight on a machine: who comes second is refused before anything starts.
#
# Its ports alone do not tell: they are bound long after they were looked at.


def claim_instances(instances: typing.Iterable[int]) -> contextlib.ExitStack:
    """Hold the instances of a flight until the result is closed."""
    with contextlib.ExitStack() as stack:
        for instance in instances:
            held = hold(_name(instance))
            if held is None:
                raise ParameterError(
                    f'instance = {instance}: another flight has it'
                    f'{holder(_name(instance))}; end it or choose another instance')
            stack.enter_context(held)
        return stack.pop_all()


def is_claimed(instance: int) -> bool:
    return is_held(_name(instance))


def _name(instance: int) -> str:
    return f'instance/{instance}'
