# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What tests of the commands share."""
import pytest
from commands import write_hop


@pytest.fixture
def hop(tmp_path):
    """Return the file of a mission that takes as little time as a flight can."""
    return write_hop(tmp_path, 0.4)


@pytest.fixture
def alone(kept):
    """See that no other graph is in the ROS domain."""
    kept.close()
