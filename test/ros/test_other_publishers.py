# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who else publishes a topic is told by name, and not before that is known."""
import types

import pytest

from px4_sim_ros.ros.framework.endpoints import other_publishers

OWN, OTHER = bytes(16), bytes([7] * 16)


@pytest.mark.parametrize('name, gid, found', [
    ('manager', OWN, []), ('manager', OTHER, ['/uav/manager']), ('simulator', OTHER,
     ['/uav/simulator']), ('simulator', OWN, ['/uav/simulator']),
    ('_NODE_NAME_UNKNOWN_', OTHER, [])])
def test_others_are_named(name, gid, found):
    info = types.SimpleNamespace(endpoint_gid=gid, node_name=name, node_namespace='/uav/')
    node = types.SimpleNamespace(
        get_name=lambda: 'manager', get_publishers_info_by_topic=lambda topic: [info])
    assert other_publishers(node, '/clock', OWN[:12].hex()) == found
