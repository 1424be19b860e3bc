"""Feet on flat ground at z = 0: a spring, a damper and dry friction at each point.

Friction is a spring from the foot to an anchor on the ground, so that a vehicle at rest
stays where it is instead of creeping. Anchors move between integration steps only; within
one the force is a pure function of the state.
"""
from __future__ import annotations

import math
import typing

from px4_sim_ros.core.frames import Vector
from px4_sim_ros.core.rotation import to_world
from px4_sim_ros.core.vehicle import ContactModel


class GroundContact:
    """Penalty contact of fixed points of the body with the ground."""

    def __init__(self, model: ContactModel, points_m: typing.Sequence[Vector]) -> None:
        self._model = model
        self._points = tuple(points_m)
        # No foot touches the ground when the body's origin is higher.
        self.reach_m = max(math.dist((0.0, 0.0, 0.0), p) for p in points_m)
        self._anchors: list[tuple[float, float] | None] = [None] * len(self._points)

    def resting_height_m(self, weight_n: float) -> float:
        """Return the height of the body's origin when it stands level under `weight_n`."""
        sinking = weight_n / (self._model.stiffness_n_m * len(self._points))
        return -min(z for _, _, z in self._points) - sinking

    def wrench(
        self, position: Vector, velocity: Vector, rotation: tuple[float, ...], rate_flu: Vector,
    ) -> tuple[float, float, float, float, float, float]:
        """Return force and torque about the centre of mass, N and N m, both in ENU.

        :param position: of the body's origin in the world, m
        :param velocity: of the body's origin in the world, m/s
        :param rotation: body to world, from `rotation.matrix`
        """
        model = self._model
        stiffness, damping = model.stiffness_n_m, model.damping_n_s_m
        x, y, z = position
        ux, uy, uz = velocity
        xx, xy, xz, yx, yy, yz, zx, zy, zz = rotation
        wx, wy, wz = to_world(rotation, rate_flu)
        fx = fy = fz = tx = ty = tz = 0.0
        for (bx, by, bz), anchor in zip(self._points, self._anchors):
            rz = zx * bx + zy * by + zz * bz
            depth = -(z + rz)
            if depth <= 0.0:
                continue
            rx = xx * bx + xy * by + xz * bz
            ry = yx * bx + yy * by + yz * bz
            vx = ux + wy * rz - wz * ry
            vy = uy + wz * rx - wx * rz
            vz = uz + wx * ry - wy * rx
            normal = max(0.0, stiffness * depth - damping * vz)
            px, py = -damping * vx, -damping * vy
            if anchor is not None:
                px -= stiffness * (x + rx - anchor[0])
                py -= stiffness * (y + ry - anchor[1])
            px, py = _limited(px, py, model.friction_coefficient * normal)
            fx += px
            fy += py
            fz += normal
            tx += ry * normal - rz * py
            ty += rz * px - rx * normal
            tz += rx * py - ry * px
        return fx, fy, fz, tx, ty, tz

    def move_anchors(self, position: Vector, rotation: tuple[float, ...]) -> None:
        """Set, drag or drop the anchors; call it after each integration step."""
        if position[2] > self.reach_m:
            self._anchors = [None] * len(self._points)
            return
        model = self._model
        for i, point in enumerate(self._points):
            rx, ry, rz = to_world(rotation, point)
            depth = -(position[2] + rz)
            if depth <= 0.0:
                self._anchors[i] = None
                continue
            x, y = position[0] + rx, position[1] + ry
            anchor_x, anchor_y = self._anchors[i] or (x, y)
            # A spring never holds more than friction can: beyond that the foot slides.
            longest = model.friction_coefficient * depth
            dx, dy = _limited(x - anchor_x, y - anchor_y, longest)
            self._anchors[i] = (x - dx, y - dy)


def _limited(x: float, y: float, limit: float) -> tuple[float, float]:
    """Return (x, y), shortened to `limit` if it is longer."""
    length = math.hypot(x, y)
    if length <= limit:
        return x, y
    return x * limit / length, y * limit / length
