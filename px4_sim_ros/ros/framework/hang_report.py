# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reports a block that hangs, and leaves it where that is asked for."""
from __future__ import annotations

import signal
import sys
import threading
import typing

from px4_sim_ros.process.signals import Stop

if typing.TYPE_CHECKING:
    from px4_sim_ros.ros.framework.block_host import BlockHost
    from px4_sim_ros.ros.manager.manager import ManagerNode

_SOON_S = 1e-5


class HangReport:
    """Logs it in the name of the node; leaves it if a step that is overdue is a failure.

    It is left by an exception that a signal raises in the midst of its step.
    """

    def __init__(self, host: BlockHost, manager: ManagerNode | None, stop: Stop) -> None:
        """Report to the nodes of this process.

        :param manager: if it is one of them
        :param stop: is told that signals find the thread that makes this in a block
        """
        self._host, self._manager, self._stop = host, manager, stop
        self._thread_id = threading.get_ident()
        self._usual_s = sys.getswitchinterval()

    def __call__(self, block: str, hangs: bool, sentence: str) -> None:
        """Take note, in another thread, that a block hangs or is back."""
        is_left = self._stop.asked       # who has asked for the end before may be gone
        self._stop.note_hang(sentence if hangs else '')
        # What a logger looks up takes thousands of turns, and the block gives each of them up late.
        sys.setswitchinterval(_SOON_S if hangs else self._usual_s)
        logger = self._host.nodes[block].get_logger()
        if not hangs:
            logger.info(sentence)
        elif self._is_failure() and not is_left:
            signal.pthread_kill(self._thread_id, signal.SIGTERM)
        else:
            logger.error(sentence)

    def _is_failure(self) -> bool:
        manager = self._manager
        return manager is not None and manager.get_parameter('on_overdue').value == 'fail'
