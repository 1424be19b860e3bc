"""`python -m px4_sim_ros`."""
import sys

from px4_sim_ros.apps.command_line import main

sys.exit(main())
