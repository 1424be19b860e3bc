# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Models against closed forms, published tables and independent libraries."""
from __future__ import annotations

import pathlib
import sys

# Without pytest, too, the package is found.
_ROOT = str(pathlib.Path(__file__).resolve().parents[2])
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)
