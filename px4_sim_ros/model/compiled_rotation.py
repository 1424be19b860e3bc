"""The arithmetic of `rotation`, for compiled functions to call."""
from __future__ import annotations

from px4_sim_ros.model import rotation
from px4_sim_ros.model.compiled import compiled

matrix = compiled(rotation.matrix)
to_body = compiled(rotation.to_body)
to_world = compiled(rotation.to_world)
