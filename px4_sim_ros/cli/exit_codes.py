# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How commands end; `docs/troubleshooting.md` has the table."""
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
# The reader of what a command prints has gone: as a shell calls the end by SIGPIPE.
UNREAD = 141
