# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A process that subscribes to topics of the step, beside a flight that is measured."""
from __future__ import annotations

import functools
import json
import pathlib
import sys
import time

from benchmarks.kinds import EVERY_TOPIC
from px4_sim_ros.process.children import Child, own_module

_MATCH_TIMEOUT_S, _LOOK_S, _STOP_TIMEOUT_S = 30.0, 0.05, 10.0
_READY, _SPIN_S = 'ready', 0.02
VIEWED = 'ground_truth/pose', 'joint_states', 'imu/data_raw', 'gps/fix', 'battery_state'
"""What viewers show, but for transforms: a node that needs tf2_msgs makes these of the pose."""


class OutsideSubscriber:
    """The process, as the benchmark sees it."""

    def __init__(self, folder: pathlib.Path, which: str) -> None:
        """Start it, and wait until it has found who publishes.

        :param folder: for what it prints
        :param which: one of SUBSCRIBERS
        :raises RuntimeError: it does not within 30 s
        """
        self._lines = folder / 'subscriber.txt'
        self._child = Child(
            'the subscriber', own_module('benchmarks.subscriber', which), log=self._lines)
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


def main() -> int:
    """Count what comes until a signal: print _READY when all topics are there, the counts last."""
    from px4_sim_ros.process.signals import raise_interrupt
    from px4_sim_ros.ros.framework import qos
    from px4_sim_ros.ros.framework.session import make_executor, message_class, ros_node
    from px4_sim_ros.spec.configuration import load_configuration
    raise_interrupt()
    topics = load_configuration(None, {}).graph.topics
    if sys.argv[1:] != [EVERY_TOPIC]:
        topics = {name: topics[name] for name in VIEWED}
    counts = dict.fromkeys(topics, 0)

    def count(topic: str, data: bytes) -> None:
        counts[topic] += 1

    with ros_node('bench_subscriber') as node:
        subscriptions = [
            node.create_subscription(
                message_class(topic.type), name, functools.partial(count, name), qos.LOOP, raw=True)
            for name, topic in topics.items()]
        executor = make_executor()
        executor.add_node(node)
        is_ready = False
        try:
            while True:
                executor.spin_once(timeout_sec=_SPIN_S)
                if not is_ready and all(s.get_publisher_count() for s in subscriptions):
                    is_ready = True
                    print(_READY, flush=True)
        except KeyboardInterrupt:
            print(json.dumps(counts), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
