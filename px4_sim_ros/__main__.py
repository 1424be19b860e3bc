# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`python -m px4_sim_ros`."""
from px4_sim_ros.process import signal_mask

signal_mask.block()        # before all else: until then Python shows where a signal came

from px4_sim_ros.process import blas_threads, gc_control

blas_threads.choose()
gc_control.hold()

from px4_sim_ros.cli.command_line import main
from px4_sim_ros.process import leaving

leaving.end(main())
