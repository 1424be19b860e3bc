# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sky of a GNSS receiver: which satellites it uses, and how good a position they make."""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.environment.satellites import Dilution, dilution, directions_enu
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scene.rays import DISTANCE, Pose, Rays
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.world import WorldParameters

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

LARGEST_DOP = 99.99
"""What stands for an infinite one, as in the NMEA sentences of receivers."""
NOT_MODELLED = -1
_FAR_M = 1e6                       # beyond all that may stand in a scene
_WORLD_AXES = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_ZENITH = np.array([[0.0, 0.0, 1.0]])


class Reception(typing.NamedTuple):
    """What a receiver has of the sky."""

    satellites: int = NOT_MODELLED
    """That it uses."""
    dilution: Dilution = Dilution(0.0, 0.0)
    growth: Dilution = Dilution(1.0, 1.0)
    """Of the errors, over those with all satellites above the mask."""
    has_fix: bool = True


OPEN = Reception()


class Sky:
    """The satellites above a receiver."""

    def __init__(
        self, world: WorldParameters, systems: typing.Sequence[str], start_s: float,
        mask_deg: float, wait_s: float, largest_pdop: float,
    ) -> None:
        """Take the world, and what the parameters of a receiver of these names say."""
        self._frame, self._ground = world.local_frame(), world.ground()
        self._systems = systems
        self._start_s, self._lowest = start_s, math.sin(math.radians(mask_deg))
        self._wait_us, self._largest_pdop = round(wait_s * US_PER_S), largest_pdop
        self._hidden_us: dict[int, int] = {}       # by satellite, when it was hidden last
        self._rays = Rays(None, self._ground, _ZENITH, _FAR_M)

    def see(self, scene: Scene) -> None:
        """Let what stands in the world hide satellites."""
        self._rays = Rays(scene, self._ground, _ZENITH, _FAR_M)

    def reception(self, time_us: int, place_enu: Vector) -> Reception:
        """Return the reception of an antenna at a time and a place; times must not go back."""
        place = self._frame.to_geodetic(place_enu)
        since_s = self._start_s + time_us / US_PER_S
        found = [its for system in self._systems for its in directions_enu(system, place, since_s)]
        # East of the place on the map.
        cosine, sine, _ = self._frame.turned_from_place(place, (1.0, 0.0, 0.0))
        above = {i: (cosine * east - sine * north, cosine * north + sine * east, up)
                 for i, (east, north, up) in enumerate(found) if up >= self._lowest}
        if above:
            self._rays.aim(np.array(list(above.values())))
            pose = Pose(place_enu, _WORLD_AXES, time_us=time_us)
            met = self._rays.cast(pose)[:, DISTANCE].tolist()
            self._hidden_us |= {i: time_us for i, m in zip(above, met) if m < math.inf}
        used = [its for i, its in above.items() if i not in self._hidden_us
                or time_us - self._hidden_us[i] > self._wait_us]
        best, left = dilution(above.values()), dilution(used)
        if left.position > self._largest_pdop:
            return Reception(len(used), _limited(left), has_fix=False)
        return Reception(len(used), _limited(left), Dilution(
            left.horizontal / best.horizontal, left.vertical / best.vertical))


def _limited(found: Dilution) -> Dilution:
    return Dilution(*(min(value, LARGEST_DOP) for value in found))
