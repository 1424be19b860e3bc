# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Environments of Gymnasium: `import px4_sim_ros.learning` registers them."""
import gymnasium

gymnasium.register(
    'px4_sim_ros/Motors-v0', 'px4_sim_ros.learning.environments:MotorsEnv')
gymnasium.register(
    'px4_sim_ros/SetPoint-v0', 'px4_sim_ros.learning.environments:SetPointEnv')
gymnasium.register(
    'px4_sim_ros/Px4-v0', 'px4_sim_ros.learning.px4_environment:Px4Env')
