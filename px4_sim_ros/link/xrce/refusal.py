# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is not taken."""
from __future__ import annotations

_LONGEST = 80


class Refusal(Exception):
    """Something that PX4's client does not send, or cannot take."""

    def __init__(self, kind: str, status: int = 0, detail: str = '') -> None:
        """Name it.

        :param kind: is reported once, however often it comes
        :param status: what a client is answered that has asked for it; 0: that its data is invalid
        :param detail: of this one
        """
        shown = ''.join(filter(str.isprintable, detail))[:_LONGEST]
        super().__init__(f'{kind} ({shown})' if shown else kind)
        self.kind, self.status = kind, status
