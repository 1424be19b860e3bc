# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The motion of a vehicle as `simulation_interfaces` has it: all vectors in `map`."""
import math

import pytest

pytest.importorskip('simulation_interfaces', reason='simulation_interfaces is not installed')

from px4_sim_ros.messages.stamps import stamp_us
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.ros.manager.standard_services import state_message


def numbers(vector):
    return vector.x, vector.y, vector.z


def test_one_that_faces_north_goes_north():
    """Turned by 90 degrees about the vertical, forward is north and left is west."""
    half = math.sqrt(0.5)
    state = state_message(Truth(
        1_004_000, (1.0, 2.0, 3.0), (half, 0.0, 0.0, half), (5.0, 0.5, 0.1), (0.1, 0.2, 0.3),
        (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (), ()))
    assert (stamp_us(state.header.stamp), state.header.frame_id) == (1_004_000, 'map')
    assert numbers(state.pose.position) == (1.0, 2.0, 3.0)
    assert (state.pose.orientation.w, *numbers(state.pose.orientation)) == (half, 0.0, 0.0, half)
    assert numbers(state.twist.linear) == pytest.approx((-0.5, 5.0, 0.1))
    assert numbers(state.twist.angular) == pytest.approx((-0.2, 0.1, 0.3))
    assert numbers(state.acceleration.linear) == pytest.approx((-2.0, 1.0, 3.0))
    assert numbers(state.acceleration.angular) == pytest.approx((-5.0, 4.0, 6.0))
