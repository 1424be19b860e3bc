# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Programs that start others in a state that Python cannot give them."""
from px4_sim_ros.config.signal_mask import ENDING

# The kernel sends SIGTERM when the parent is gone, even if it was killed. (`setpriv` is part
# of util-linux; Python's preexec_fn is not safe in a process with threads.)
DIE_WITH_PARENT = ('setpriv', '--pdeathsig', 'TERM', '--')
# Signals wait until the process has its handlers and unblocks them: while Python imports, Ctrl-C
# would print where it has got to. (`env` is part of coreutils.)
SIGNALS_WAIT = ('env', f"--block-signal={','.join(map(str, ENDING))}", '--')
