"""Models against closed forms, published tables and independent libraries."""
from __future__ import annotations

import pathlib
import sys

_TEST = pathlib.Path(__file__).resolve().parent.parent
# Without pytest, too, the package and the helpers of the core's tests are found.
sys.path[:0] = [
    folder for folder in (str(_TEST.parent), str(_TEST / 'model')) if folder not in sys.path]
