# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Environments of Gymnasium: `import px4_sim_ros.learning` registers them."""
from px4_sim_ros.model.errors import check_installed

check_installed('gymnasium')
import gymnasium  # noqa: E402

gymnasium.register(
    'px4_sim_ros/Motors-v0', 'px4_sim_ros.learning.environments:MotorsEnv')
gymnasium.register(
    'px4_sim_ros/SetPoint-v0', 'px4_sim_ros.learning.environments:SetPointEnv')
gymnasium.register(
    'px4_sim_ros/Px4-v0', 'px4_sim_ros.learning.px4_environment:Px4Env')
