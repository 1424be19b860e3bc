# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""NumPy's linear algebra works in the thread that calls it.

A thread for each further core would wait for matrices that are large enough; there are none, and
to start it takes each process of a graph a tenth of the processor time of all its imports. This is
to be known before NumPy is imported: so this imports nothing that takes time.
"""
import os

_NAME = 'OPENBLAS_NUM_THREADS'
ENVIRONMENT = {_NAME: os.environ.get(_NAME, '1')}
"""What processes are started with; a user who has chosen a number keeps it."""


def choose() -> None:
    """Let this process and all that it starts have it so."""
    os.environ.update(ENVIRONMENT)
