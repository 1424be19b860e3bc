# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The socket by which the programs of PX4's start script talk to their PX4."""
from __future__ import annotations

import contextlib
import pathlib
import socket

from px4_sim_ros.model.errors import ParameterError

_FOLDER = pathlib.Path('/tmp')


def check_socket(instance: int) -> None:
    """Check that a PX4 can make its socket; one that nobody serves any more is removed.

    :raises ParameterError: it is another user's, and PX4 cannot boot
    """
    try:
        remove_dead_socket(instance)
    except PermissionError as error:
        raise ParameterError(
            f'instance = {instance}: {_path(instance)} belongs to the PX4 of another user; remove'
            ' it if that does not run any more, or choose another instance') from error


def remove_dead_socket(instance: int) -> None:
    """Remove the socket of a PX4 that has ended, which leaves it to others who could not.

    :raises PermissionError: it is another user's
    """
    path = _path(instance)
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(FileNotFoundError):
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


def _path(instance: int) -> pathlib.Path:
    return _FOLDER / f'px4-sock-{instance}'
