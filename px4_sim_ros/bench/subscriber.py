# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Somebody outside who subscribes to every topic of the step, beside a flight that is measured."""
from __future__ import annotations

import json
import pathlib
import time

from px4_sim_ros.process.child_prefix import own_module
from px4_sim_ros.process.children import Child

_MATCH_TIMEOUT_S, _LOOK_S, _STOP_TIMEOUT_S = 30.0, 0.05, 10.0


class OutsideSubscriber:
    """The process `px4_sim_ros.ros.tools.bench_subscriber`."""

    def __init__(self, folder: pathlib.Path) -> None:
        """Start it, and wait until it has found who publishes.

        :param folder: for what it prints
        :raises RuntimeError: it does not within 30 s
        """
        self._lines = folder / 'subscriber.txt'
        self._child = Child(
            'the subscriber', own_module('px4_sim_ros.ros.tools.bench_subscriber'), log=self._lines)
        deadline_s = time.monotonic() + _MATCH_TIMEOUT_S
        while not self._lines.read_text(encoding='utf-8'):
            if self._child.exit_code is not None or time.monotonic() > deadline_s:
                self._child.stop()
                raise RuntimeError('the subscriber does not find all topics')
            time.sleep(_LOOK_S)

    def close(self) -> None:
        """End it; a second time nothing happens."""
        self._child.stop(_STOP_TIMEOUT_S)

    def counts(self) -> dict[str, int]:
        """Return how many messages of each topic it has got, after it has ended.

        :raises RuntimeError: of one topic none
        """
        last = self._lines.read_text(encoding='utf-8').splitlines()[-1]
        counts: dict[str, int] = json.loads(last) if last.startswith('{') else {}
        if not counts or not all(counts.values()):
            raise RuntimeError(f'the subscriber has not got each topic: {last}')
        return counts
