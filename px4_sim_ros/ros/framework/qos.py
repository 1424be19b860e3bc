# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All quality-of-service profiles, by name."""
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# Inside the step nothing may be lost. A slow sensor is sent every step and may read them late,
# but those that it uses are the newest; the depth is for tools that look on.
LOOP = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=100)

# The same where much comes at once, as in many times real time.
DEEP = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=2000)

# A late subscriber gets the last value.
LATCHED = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=1,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)

# The same for a listener who wants them all.
LATCHED_LOG = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=100,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)

# From any publisher: only the newest counts, and one that is lost is no matter.
LATEST = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1)

# The same from its first message on, for a recorder.
DEEP_LATCHED = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=2000,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)

# PX4's own topics: as an agent offers them, and so that each publisher fits.
OF_PX4 = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)
TO_PX4 = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=100)

DIAGNOSTICS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=10)
