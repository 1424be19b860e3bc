# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All quality-of-service profiles, by name."""
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _last(depth: int, *, is_reliable: bool = True, is_latched: bool = False) -> QoSProfile:
    """Return a profile that keeps the last messages, if latched also for late subscribers."""
    durability = {'durability': DurabilityPolicy.TRANSIENT_LOCAL} if is_latched else {}
    return QoSProfile(
        reliability=(ReliabilityPolicy.RELIABLE if is_reliable else ReliabilityPolicy.BEST_EFFORT),
        history=HistoryPolicy.KEEP_LAST, depth=depth, **durability)


# Inside the step nothing may be lost. A slow sensor is sent every step and may read them late,
# but those that it uses are the newest; the depth is for tools that look on.
LOOP = _last(100)

# The same where much comes at once, as in many times real time.
DEEP = _last(2000)

# A late subscriber gets the last value.
LATCHED = _last(1, is_latched=True)

# The same for a listener who wants them all.
LATCHED_LOG = _last(100, is_latched=True)

# From any publisher: only the newest counts, and one that is lost is no matter.
LATEST = _last(1, is_reliable=False)

# All from the first message on, for a recorder.
DEEP_LATCHED = _last(2000, is_latched=True)

# PX4's own topics: as an agent offers them, and so that each publisher fits.
OF_PX4 = _last(1, is_reliable=False, is_latched=True)
TO_PX4 = _last(100, is_reliable=False)

DIAGNOSTICS = _last(10)
