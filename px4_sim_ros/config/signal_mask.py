# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The signals that ask a process to end, and letting them wait.

They are to wait before anything else is imported: so this imports nothing that takes time.
"""
import _signal

# Of a user, of another program, and of a terminal that is closed.
ENDING = int(_signal.SIGINT), int(_signal.SIGTERM), int(_signal.SIGHUP)


def block() -> None:
    """Let them wait until there is a handler: while Python imports, they would show where."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, ENDING)
