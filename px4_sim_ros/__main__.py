"""`python -m px4_sim_ros`."""
import sys

from px4_sim_ros.cli.command_line import main

try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
