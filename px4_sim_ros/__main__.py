# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`python -m px4_sim_ros`."""
from px4_sim_ros.config import collector, one_thread, signal_mask

signal_mask.block()        # before what takes long to import
one_thread.choose()
collector.hold()

import sys

from px4_sim_ros.cli.command_line import main

sys.exit(main())
