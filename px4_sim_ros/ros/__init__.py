# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All that runs on rclpy: nodes, executor, manager, recorder, players, visualizer."""
from px4_sim_ros.jit.block_import import blocked_import

# The types of messages are loaded by a package that generates their code as well. A parser and
# templates for that take each process 25 ms and 2 MiB, and nothing is generated here.
with blocked_import('rosidl_generator_py.generate_py_impl'):
    import rosidl_generator_py  # noqa: F401
