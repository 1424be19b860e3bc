# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What only one run of the tests on a machine may use at a time, whoever has started it."""
import fcntl
import pathlib
import tempfile


def lock_file(name):
    """Open a file to be locked; for reading, so that it may be that of another user."""
    folder = pathlib.Path(tempfile.gettempdir()) / 'px4_sim_ros_tests'
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        folder.chmod(0o1777)           # as that around it
    path = folder / name
    if not path.exists():
        path.touch()
    return path.open()


def lock(name):
    """Return a lock, held while it is open; None if somebody else has it."""
    file = lock_file(name)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
