# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The signals that ask a process to end, and what becomes of them while it imports.

That is to be settled before anything else is imported: so this imports nothing that takes time.
"""
import _signal
import os
import sys

# Of a user, of another program, and of a terminal that is closed.
ENDING = int(_signal.SIGINT), int(_signal.SIGTERM), int(_signal.SIGHUP)
# `nohup` lets the third be ignored, so it is left to its handler.
_ALWAYS = {_signal.SIGINT, _signal.SIGTERM}


def block() -> None:
    """Let them wait until there is a handler: while Python imports, they would show where."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, ENDING)


def end_while_importing() -> None:
    """Let them wait, and the next import end this process, without a word, if one has come."""
    block()
    sys.meta_path.insert(0, _EndAtImport())


class _EndAtImport:
    """Finds no module."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Look whether a signal waits: it does as long as there is no handler."""
        if _ALWAYS & _signal.sigpending():
            os._exit(0)
