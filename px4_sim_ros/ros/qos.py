"""All quality-of-service profiles, by name."""
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

# Inside the step nothing may be lost. A slow sensor is sent every step and may read them late,
# but those that it uses are the newest; the depth is for tools that look on.
LOOP = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=100)

# The last value is there for whoever comes later.
LATCHED = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=1,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)

# The same for a listener who wants them all.
LATCHED_LOG = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=100,
    durability=DurabilityPolicy.TRANSIENT_LOCAL)

DIAGNOSTICS = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=10)
