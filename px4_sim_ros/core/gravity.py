"""Acceleration of gravity: uniform, or normal gravity of WGS-84."""
from __future__ import annotations

GRAVITY_MODELS = ('uniform', 'wgs84')
