# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An observer of every topic of the step, in a process of its own: what one costs."""
from __future__ import annotations

import functools
import json
import sys

from px4_sim_ros.process.signals import raise_interrupt
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.message_types import message_class
from px4_sim_ros.ros.framework.session import make_executor, ros_node
from px4_sim_ros.spec.configuration import load_configuration

READY = 'ready'
_SPIN_S = 0.02


def main() -> int:
    """Count what comes until a signal: print READY when all topics are there, the counts last."""
    raise_interrupt()
    topics = load_configuration(None, {}).graph.topics
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
                    print(READY, flush=True)
        except KeyboardInterrupt:
            print(json.dumps(counts), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
