# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a vehicle stands at first in a scene: on the ground, or on top of what stands there."""
from __future__ import annotations

import math
import typing

import numpy as np

from px4_sim_ros.model.body.integrators import FIXED
from px4_sim_ros.model.body.plant import Plant
from px4_sim_ros.model.body.scene_contact import behind, touched_names
from px4_sim_ros.model.environment.ground import Ground
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.frames import Quaternion, Vector, vector
from px4_sim_ros.model.rotation import matrix, to_body, to_world, total
from px4_sim_ros.model.scene.height_map import height_and_normal, meshes_at
from px4_sim_ros.model.scene.meshes import FAR_M, ITS_AXES, OBJECT, nearest_of_mesh, ray_to_mesh
from px4_sim_ros.model.scene.moving import (
    MOVES,
    angular_velocity,
    check_can_move,
    move_shape,
    move_shapes,
    surface_velocity,
)
from px4_sim_ros.model.scene.shapes import ray_to_shape

if typing.TYPE_CHECKING:
    from px4_sim_ros.model.scene.scene import Scene

_UP = (0.0, 0.0, 1.0)
_UNKNOWN = (math.nan, math.nan, math.nan)
_ABOVE_M = 1e-9        # over a surface nothing is in the shape


class Footing(typing.NamedTuple):
    """A place on a surface, ENU, and how the surface lies there: a plane through that place."""

    place_enu: Vector
    slope: Ground
    shape: int             # the row of the shape that has the surface, -1 for none

    def place_above(self, height_m: float) -> Vector:
        """Return the place so high above it, across the surface."""
        return total(self.place_enu, to_world(self.slope.matrix, (0.0, 0.0, height_m)))


def footing(plant: Plant, scene: Scene, plane: Ground, east_m: float, north_m: float) -> Footing:
    """Return the place that a vehicle stands on: the ground, or the top of the objects around it.

    An object that is above the ground, such as a roof, stays above the vehicle.

    :param plane: the ground, if the scene has none
    :raises ParameterError: there is no ground
    """
    if scene.ground is None:
        height, normal = plane.place_above(east_m, north_m, 0.0)[2], to_world(plane.matrix, _UP)
    else:
        height, *normal_of = height_and_normal(plant.relief, east_m, north_m)
        normal = vector(normal_of)
        if math.isnan(height):
            raise _no_ground(scene, east_m, north_m)
    is_inside, shape = True, -1
    while is_inside:
        is_inside, point = False, (east_m, north_m, height + _ABOVE_M)
        for i in range(len(plant.shapes)):
            if behind(plant.shapes, i, _UNKNOWN, point, -1)[1] > 0.0:
                distance, *normal_of = ray_to_shape(plant.shapes, i, point, _UP)
                height, normal, is_inside = point[2] + distance, vector(normal_of), True
                shape = i
                break
        if not is_inside and in_mesh_m(plant, point)[0] > 0.0:
            t, distance, *normal_of = ray_to_mesh(
                plant.shapes, plant.relief, meshes_at(plant.relief), point, _UP, math.inf)
            if math.isfinite(distance):        # else it is open above
                height, is_inside = point[2] + distance, True
                shape = int(plant.relief[t + ITS_AXES])
                normal = vector(-part for part in normal_of)
    return Footing((east_m, north_m, height), _across(normal), shape)


def begin_paths(plant: Plant, scene: Scene, integrator: str, time_us: int) -> None:
    """Put what moves where it is at a time.

    :raises ParameterError: the integrator needs a world that stands still
    """
    check_can_move(scene, integrator, FIXED)
    move_shapes(plant.shapes, plant.paths, float(time_us))


def velocities_of(
    plant: Plant, under: Footing, time_us: int, place: Vector, attitude: Quaternion,
) -> tuple[Vector, Vector] | None:
    """Return velocity (ENU) and rate (FLU) with the object below at a place; None: it rests."""
    rows, shape = plant.shapes, under.shape
    if shape < 0 or not rows[shape, MOVES]:
        return None
    move_shape(rows, shape, plant.paths, float(time_us))
    return surface_velocity(rows, shape, place), to_body(
        matrix(attitude), angular_velocity(rows, shape))


def in_mesh_m(plant: Plant, point: Vector) -> tuple[float, int]:
    """Return how deep a place is in a mesh, and the number of its object; not above 0: in none."""
    at = meshes_at(plant.relief)
    if not at:
        return 0.0, -1
    t, distance, *_ = nearest_of_mesh(plant.shapes, plant.relief, at, point, FAR_M)
    return -distance, int(plant.relief[t + OBJECT])


def check_room(
    plant: Plant, scene: Scene, place: Vector, attitude: Quaternion, spring_m: float,
) -> None:
    """Check that no point of a vehicle is in an object, but for feet on their springs.

    :param spring_m: how deep a foot is at most that bears all of the weight
    :raises ParameterError: naming the object
    """
    turn, names = matrix(attitude), touched_names(scene)
    for arm in plant.feet[:, :3].tolist():
        point = total(place, to_world(turn, tuple(arm)))
        deep, number = in_mesh_m(plant, point)
        inside = [names[len(plant.shapes) + number]] if deep > 1.001 * spring_m else []
        inside += [names[i] for i in range(len(plant.shapes)) if behind(
            plant.shapes, i, _UNKNOWN, point, -1)[1] > 1.001 * spring_m]
        if inside:
            raise ParameterError(
                f'start_east_m = {place[0]:g}, start_north_m = {place[1]:g}: the vehicle would'
                f' begin in {inside[0]} of the scene {scene.name}; must be a place with room for'
                ' it')


def raised_m(plant: Plant, place: Vector, attitude: Quaternion) -> float:
    """Return by how much a vehicle has to be raised for all of its points to be over the ground."""
    turn, most = matrix(attitude), 0.0
    for arm in plant.feet[:, :3].tolist():
        x, y, z = total(place, to_world(turn, tuple(arm)))
        height, _, _, _ = height_and_normal(plant.relief, x, y)
        if height > z + most:          # not true for NaN: off the edges
            most = height - z
    return most


def _across(normal: Vector) -> Ground:
    """Return the plane with a normal, turned about a horizontal axis."""
    x, y, z = normal
    if x == y == 0.0:
        return Ground()
    length = math.sqrt((1.0 + z) ** 2 + x * x + y * y)
    return Ground(((1.0 + z) / length, -y / length, x / length, 0.0))


def _no_ground(scene: Scene, east_m: float, north_m: float) -> ParameterError:
    assert scene.ground is not None
    (east, north), spacing = scene.ground.corner_m, scene.ground.ground.spacing_m
    rows, columns = np.array(scene.ground.heights_m.shape) - 1
    return ParameterError(
        f'start_east_m = {east_m:g}, start_north_m = {north_m:g}: the scene {scene.name} has no'
        f' ground there; must be within {east:g} to {east + spacing * columns:g} east and'
        f' {north:g} to {north + spacing * rows:g} north')
