# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What rays meet, against closed forms that are computed otherwise."""
import math
from fractions import Fraction

import numpy as np
import pytest
from test_scene_contact import as_mesh
from uncompiled import uncompiled

from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.scene.height_map import height_and_normal, map_numbers, ray_to_map, relief_of
from px4_sim_ros.model.scene.meshes import (
    OBJECT,
    clearance_of,
    mesh_numbers,
    nearest_of_mesh,
    ray_to_mesh,
)
from px4_sim_ros.model.scene.rays import MESH, meet
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.model.scene.shapes import (
    BOX,
    CYLINDER,
    PLANE,
    SPHERE,
    Shape,
    clearance_m,
    nearest,
    ray_to_shape,
    shape_rows,
    shapes_of,
)
from px4_sim_ros.spec.files import Files

LEVEL, TURNED = (1.0, 0.0, 0.0, 0.0), (0.8, 0.4, -0.2, 0.4)
SIZES = {PLANE: (0.0, 0.0, 0.0), BOX: (2.0, 0.7, 1.1), CYLINDER: (0.9, 0.9, 1.6),
         SPHERE: (1.3, 1.3, 1.3)}
NONE = (math.inf, 0.0, 0.0, 0.0)


def depth_m(kind, place):
    """Return how deep a place in axes of a shape is in it: above 0 inside, below 0 outside."""
    x, y, z = place
    a, b, c = SIZES[kind]
    if kind == PLANE:
        return -z
    if kind == BOX:
        return min(a - abs(x), b - abs(y), c - abs(z))
    if kind == CYLINDER:
        return min(a - math.hypot(x, y), c - abs(z))
    return a - math.hypot(x, y, z)


def bisected(inside, near, far):
    """Return where a function of a distance changes its sign."""
    sign = inside(near) > 0.0
    for _ in range(200):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if (inside(middle) > 0.0) == sign else (near, middle)
    return 0.5 * (near + far)


def rays(count, seed):
    """Return origins about a shape, inside and outside, and directions of length 1."""
    rng = np.random.default_rng(seed)
    origins, ways = rng.normal(size=(count, 3)) * 2.5, rng.normal(size=(count, 3))
    ways[::2] = -origins[::2] + 0.6 * ways[::2]         # most of these meet it
    return origins, ways / np.linalg.norm(ways, axis=1)[:, None]


@pytest.mark.parametrize('kind', SIZES)
def test_range_and_normal_of_any_ray(kind):
    """Distances are those of a search along the ray; normals are gradients of the depth."""
    place, turn = np.array((3.0, -4.0, 5.0)), np.array(matrix(TURNED)).reshape(3, 3)
    rows = shape_rows([Shape(kind, tuple(place), TURNED, SIZES[kind])])
    met = inside = 0
    for origin, way in zip(*rays(240, kind)):
        def depth(t, origin=origin, way=way):
            return depth_m(kind, origin + t * way)
        distance, *normal = ray_to_shape(
            rows, 0, tuple(turn @ origin + place), tuple(turn @ way))
        marks = np.linspace(0.0, 16.0, 801)
        signs = np.array([depth(t) > 0.0 for t in marks])
        changes = np.flatnonzero(signs[1:] != signs[:-1])
        if not len(changes):
            if math.isfinite(distance) and kind != PLANE:   # a corner between two marks
                assert abs(depth(distance)) < 1e-12
            continue
        met, inside = met + 1, inside + signs[0]
        wanted = bisected(depth, marks[changes[0]], marks[changes[0] + 1])
        if distance < wanted - 1e-9:                        # the same
            assert abs(depth(distance)) < 1e-12
            continue
        assert distance == pytest.approx(wanted, abs=1e-9)
        at, step = origin + wanted * way, 1e-6
        gradient = -np.array([
            (depth_m(kind, at + e) - depth_m(kind, at - e)) / (2.0 * step)
            for e in step * np.eye(3)])
        assert turn.T @ normal == pytest.approx(gradient, abs=1e-5)
    assert met > 60 and inside > 2


def test_far_sphere_keeps_its_digits():
    """From 50 km the distance is that of a root in 60 digits."""
    rows = shape_rows([Shape(SPHERE, (0.0, 0.0, 0.0), LEVEL, (0.5, 0.5, 0.5))])
    x, z = -50_000.0, 0.49
    left = Fraction(0.25) - Fraction(z) ** 2
    root = Fraction(math.isqrt(int(left * 10 ** 60)), 10 ** 30)
    distance, _, _, _ = ray_to_shape(rows, 0, (x, 0.0, z), (1.0, 0.0, 0.0))
    assert distance == pytest.approx(float(-Fraction(x) - root), abs=1e-11)


@pytest.mark.parametrize(('kind', 'origin', 'way', 'met'), [
    (PLANE, (0, 0, 2), (1, 0, 0), NONE),                        # parallel
    (PLANE, (0, 0, 2), (0, 0, 1), NONE),                        # behind
    (PLANE, (0, 0, -2), (0, 0, 1), (2, 0, 0, 1)),               # from inside
    (PLANE, (0, 0, -2), (0, 0, -1), NONE),
    (PLANE, (0, 0, 0), (0, 0, -1), (0, 0, 0, 1)),               # on the surface
    (PLANE, (0, 0, 0), (0, 0, 1), NONE),
    (BOX, (-5, 0.7, 0), (1, 0, 0), (3, -1, 0, 0)),              # grazing a face
    (BOX, (-5, 0.7000001, 0), (1, 0, 0), NONE),
    (BOX, (5, 0, 0), (1, 0, 0), NONE),                          # behind
    (BOX, (0.5, 0, 0), (1, 0, 0), (1.5, 1, 0, 0)),              # from inside
    (BOX, (0.5, 0, 0), (0, 0, -1), (1.1, 0, 0, -1)),
    (BOX, (2, 0, 0), (-1, 0, 0), (0, 1, 0, 0)),                 # on the surface
    (BOX, (2, 0, 0), (1, 0, 0), NONE),
    (CYLINDER, (0.9, 0, 5), (0, 0, -1), (3.4, 0, 0, 1)),        # along its side
    (CYLINDER, (0.9000001, 0, 5), (0, 0, -1), NONE),
    (CYLINDER, (-5, 0, 1.6), (1, 0, 0), (4.1, -1, 0, 0)),       # along its end
    (CYLINDER, (-5, 0.9000001, 0), (1, 0, 0), NONE),
    (CYLINDER, (0.3, 0, 1), (1, 0, 0), (0.6, 1, 0, 0)),         # from inside
    (CYLINDER, (0.3, 0, 1), (0, 0, 1), (0.6, 0, 0, 1)),
    (CYLINDER, (0, 0, 3), (0, 0, 1), NONE),                     # behind
    (SPHERE, (-5, 0, 1.3), (1, 0, 0), (5, 0, 0, 1)),            # grazing
    (SPHERE, (-5, 0, 1.3000001), (1, 0, 0), NONE),
    (SPHERE, (0.3, 0, 0), (1, 0, 0), (1, 1, 0, 0)),             # from inside
    (SPHERE, (3, 0, 0), (1, 0, 0), NONE),                       # behind
])
def test_grazing_parallel_inside_and_behind(kind, origin, way, met):
    """Each in round numbers; the nearest of one shape is the same."""
    rows = shape_rows([Shape(kind, (0.0, 0.0, 0.0), LEVEL, SIZES[kind])])
    origin, way = tuple(map(float, origin)), tuple(map(float, way))
    assert ray_to_shape(rows, 0, origin, way) == pytest.approx(met, abs=1e-12)
    index, distance, *normal = nearest(rows, origin, way, 100.0)
    assert (index, normal) == (-1 if met is NONE else 0, pytest.approx(met[1:]))
    assert distance == pytest.approx(min(met[0], 100.0), abs=1e-12)


def scene(count=40):
    """Return shapes of all kinds about the origin."""
    rng = np.random.default_rng(5)
    found = [Shape(PLANE, (0.0, 0.0, -3.0), (math.cos(0.05), math.sin(0.05), 0.0, 0.0),
                   SIZES[PLANE])]
    for kind in (BOX, CYLINDER, SPHERE) * (count // 3):
        q = rng.normal(size=4)
        found.append(Shape(kind, tuple((rng.normal(size=3) * 8.0).tolist()),
                           tuple((q / np.linalg.norm(q)).tolist()), SIZES[kind]))
    return found


def test_the_nearest_of_many():
    """It is the least of all of them, and none beyond the farthest."""
    rows, seen = shape_rows(scene()), set()
    for origin, way in zip(*rays(1000, 9)):
        origin, way = tuple(3.0 * origin), tuple(way)
        each = [ray_to_shape(rows, i, origin, way) for i in range(len(rows))]
        least = min(range(len(rows)), key=lambda i: each[i][0])
        index, *met = nearest(rows, origin, way, 12.0)
        if each[least][0] < 12.0:
            assert (index, tuple(met)) == (least, each[least])
        else:
            assert (index, *met) == (-1, 12.0, 0.0, 0.0, 0.0)
        seen.add(index)
    assert len(seen) > 30


def hills():
    """Return posts of hills, 2 m apart, from 10 m west and 6 m south on."""
    north, east = np.mgrid[0:9, 0:13]
    return 1.5 * np.sin(east / 1.7) * np.cos(north / 1.3) + 0.1 * east, (-10.0, -6.0), 2.0


def triangles():
    """Return the corners of all triangles of the hills."""
    heights, (east, north), spacing = hills()
    for i in range(heights.shape[0] - 1):
        for j in range(heights.shape[1] - 1):
            a, b, c, d = (
                np.array((east + spacing * (j + k), north + spacing * (i + m),
                          heights[i + m, j + k]))
                for m, k in ((0, 0), (0, 1), (1, 0), (1, 1)))
            yield a, b, d
            yield a, d, c


def to_triangle(origin, way, corners):
    """Return the distance to a triangle (Moeller and Trumbore, 1997), and its upward normal."""
    a, b, c = corners
    across = np.cross(way, c - a)
    volume = across @ (b - a)
    if volume == 0.0:
        return NONE
    u = across @ (origin - a) / volume
    w = np.cross(origin - a, b - a)
    v, distance = w @ way / volume, w @ (c - a) / volume
    normal = np.cross(b - a, c - a)
    return (distance, *(normal / np.linalg.norm(normal))) if (
        min(u, v, distance) >= -1e-12 and u + v <= 1.0 + 1e-12) else NONE


def test_rays_to_a_height_map():
    """They meet the nearest of all triangles, from above, from below, from the sides and off it."""
    ground, all_triangles = map_numbers(*hills()), list(triangles())
    rng, met, from_below = np.random.default_rng(3), 0, 0
    for k in range(260):
        origin = rng.uniform((-12.0, -8.0, -2.0), (16.0, 12.0, 4.0))
        way = rng.normal(size=3) * ((1, 1, 1), (1, 1, 0.05), (1, 0, 0.3), (0, -1, 0))[k % 4]
        way /= np.linalg.norm(way)
        wanted = min((to_triangle(origin, way, t) for t in all_triangles), key=lambda m: m[0])
        distance, *normal = ray_to_map(ground, tuple(origin), tuple(way), 100.0)
        assert distance == pytest.approx(wanted[0], abs=1e-9)
        assert normal == pytest.approx(wanted[1:], abs=1e-9)
        if math.isfinite(distance):
            met, from_below = met + 1, from_below + (np.dot(normal, way) > 0.0)
            height, *same = height_and_normal(ground, *(origin + distance * way)[:2])
            assert height == pytest.approx((origin + distance * way)[2], abs=1e-9)
            assert same == pytest.approx(normal) or abs(np.dot(same, normal)) < 1.0
    assert met > 60 and from_below > 15


@pytest.mark.parametrize('way', [(0, 0, -1), (1, 0, -1), (0, -1, -1), (1, 1, -1), (-1, -1, -2)])
def test_none_slips_through_between_triangles(way):
    """Rays through posts, edges and diagonals of flat and of hilly ground meet it."""
    heights, corner, spacing = hills()
    way = np.array(way, float) / np.linalg.norm(way)
    for posts in (heights, np.zeros_like(heights)):
        ground = map_numbers(posts, corner, spacing)
        for east in np.arange(-4.0, 8.0, 0.5):
            for north in np.arange(-2.0, 6.0, 0.5):
                height, *_ = height_and_normal(ground, east, north)
                at = np.array((east, north, height))
                distance, *_ = ray_to_map(ground, tuple(at - 2.0 * way), tuple(way), 50.0)
                assert distance <= 2.0 + 1e-9
                if posts is not heights:
                    assert distance == pytest.approx(2.0, abs=1e-9)


def test_height_map_of_a_slope_is_the_plane():
    """Heights, normals and ranges are those of the plane through its posts."""
    north, east = np.mgrid[0:5, 0:7] * 3.0
    ground = map_numbers(0.3 * east - 0.2 * north + 1.0, (0.0, 0.0), 3.0)
    normal = np.array((-0.3, 0.2, 1.0)) / np.linalg.norm((-0.3, 0.2, 1.0))
    for east_m, north_m in ((0.0, 0.0), (18.0, 12.0), (3.3, 7.1), (17.9, 0.4)):
        height, *found = height_and_normal(ground, east_m, north_m)
        assert height == pytest.approx(0.3 * east_m - 0.2 * north_m + 1.0, abs=1e-12)
        assert found == pytest.approx(normal, abs=1e-12)
        origin, way = np.array((9.0, 6.0, 20.0)), np.array((east_m, north_m, height))
        way[:2] += 1e-6 * (origin - way)[:2]       # within the edges
        way = (way - origin) / np.linalg.norm(way - origin)
        distance, *_ = ray_to_map(ground, tuple(origin), tuple(way), 100.0)
        assert distance == pytest.approx(
            (np.array((0.0, 0.0, 1.0)) - origin) @ normal / (way @ normal), abs=1e-9)
    assert math.isnan(height_and_normal(ground, 18.1, 0.0)[0])
    assert ray_to_map(ground, (18.1, 0.0, 20.0), (0.0, 0.0, -1.0), 100.0) == NONE
    assert ray_to_map(ground, (9.0, 6.0, 20.0), (0.0, 0.0, -1.0), 10.0) == NONE


@pytest.mark.parametrize('kind', [BOX, CYLINDER, SPHERE])
def test_how_far_a_shape_is_by_the_points_of_its_surface(kind):
    """Outside and inside, against the nearest of many points of it."""
    size, middle, attitude = SIZES[kind], np.array((3.0, -2.0, 1.5)), (0.8, 0.36, -0.36, 0.32)
    turn = np.array(matrix(attitude)).reshape(3, 3)
    ways = np.random.default_rng(5).normal(size=(40_000, 3)) * size
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    row = shape_rows([Shape(kind, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), size)])
    surface = np.array([
        np.array(way) * ray_to_shape(row, 0, (0.0, 0.0, 0.0), way)[0] for way in map(tuple, ways)])
    rows = shape_rows([Shape(kind, tuple(middle), attitude, size)])
    for share in ((2.0, 0.0, 0.0), (0.1, 1.6, 0.2), (-0.9, 0.9, 1.9), (0.2, 0.1, 0.1),
                  (0.0, 0.3, -0.6)):
        place = np.array(share) * size
        away = np.linalg.norm(surface - place, axis=1).min()
        found = clearance_m(rows, tuple(middle + turn @ place))
        assert found == pytest.approx(
            -away if depth_m(kind, place) > 0.0 else away, abs=0.03 * max(size))
    assert clearance_m(shape_rows([]), (0.0, 0.0, 0.0)) == math.inf


def test_how_far_the_nearest_of_a_scene_is_from_a_vehicle():
    """A wall whose front is 20 m to the east, and a vehicle of 0.3 m."""
    clear_m = clearance_of(Files().scene('wall'), 0.3)
    assert clear_m((15.0, 0.0, 3.0), 0) == pytest.approx(4.7)
    assert clear_m((20.25, 0.0, 15.0), 0) == pytest.approx(2.7)        # over it
    assert clear_m((17.0, 24.0, 3.0), 0) == pytest.approx(5.0 - 0.3)   # beside it
    assert clear_m((20.2, 0.0, 3.0), 0) == pytest.approx(-0.5)


def boxes(*make):
    """Return a scene of boxes, each made into something."""
    rng = np.random.default_rng(8)
    entries = [{
        'name': f'{i}', 'shape': 'box', 'place_m': rng.uniform(-6.0, 6.0, 3).round(3).tolist(),
        'size_m': [2.0, 1.5, 0.5], 'roll_pitch_yaw_deg': [30.0 * i, 20.0, 50.0 * i]}
        for i in range(6)]
    return Scene.from_mapping('boxes', 'boxes', {'objects': [
        one(entry) for one, entry in zip(make, entries)]})


def test_a_mesh_of_boxes_is_met_as_the_boxes_are():
    """Also with four triangles of each, so that edges and corners are met."""
    plain = shape_rows(shapes_of(boxes(*[dict] * 6)))
    meshes = mesh_numbers(boxes(*[as_mesh] * 3, *[lambda entry: as_mesh(entry, 2)] * 3))
    hits = 0
    for origin, way in zip(*rays(2000, 3)):
        origin, way = tuple((4.0 * origin).tolist()), tuple(way.tolist())
        row, distance, *normal = nearest(plain, origin, way, 50.0)
        t, found, *facing = ray_to_mesh(plain, meshes, 0, origin, way, 50.0)
        number = -1 if t < 0 else meshes[t + OBJECT]
        assert (number, found) == (row, pytest.approx(distance, abs=1e-6))
        if row >= 0:
            hits += 1
            # On the side from which it comes; a box has that of where it leaves.
            assert abs(np.dot(normal, facing)) == pytest.approx(1.0, abs=1e-6)
            assert np.dot(facing, way) < 0.0
    assert hits > 100


def test_how_far_a_mesh_is_of_boxes():
    plain, meshes = boxes(*[dict] * 6), boxes(*[as_mesh] * 6)
    one, other = clearance_of(plain, 0.1), clearance_of(meshes, 0.1)
    signs = set()
    for place in np.random.default_rng(2).uniform(-7.0, 7.0, (300, 3)):
        place = tuple(place.tolist())
        assert other(place, 0) == pytest.approx(one(place, 0), abs=1e-6)
        signs.add(one(place, 0) > -0.1)
    assert signs == {True, False}


def test_a_mesh_is_met_among_other_things():
    """Its number is that among the objects of the scene; a plane and a shape may be nearer."""
    mixed = boxes(dict, as_mesh, dict, as_mesh, dict, as_mesh)
    plain = shape_rows(shapes_of(boxes(*[dict] * 6)))
    rows, relief, found = shape_rows(shapes_of(mixed)), relief_of(mixed), set()
    for origin, way in zip(*rays(1000, 5)):
        origin, way = tuple((4.0 * origin).tolist()), tuple(way.tolist())
        row, distance, *_ = nearest(plain, origin, way, 50.0)
        met, apart, *_ = meet(rows, rows, relief, origin, way, 50.0)
        assert apart == pytest.approx(distance, abs=1e-6)
        number = relief[MESH - met + OBJECT] if met <= MESH else 2 * met if met >= 0 else met
        assert number == row
        found.add(number)
    assert found == {-1, *range(6)}


def answers():
    """Return what many rays meet, as bytes in hexadecimal digits."""
    rows, ground, found = shape_rows(scene()), map_numbers(*hills()), []
    meshes = mesh_numbers(boxes(*[as_mesh] * 6))
    for origin, way in zip(*rays(300, 2)):
        origin, way = tuple((4.0 * origin).tolist()), tuple(way.tolist())
        found += [nearest(rows, origin, way, 50.0), ray_to_map(ground, origin, way, 50.0),
                  ray_to_mesh(rows, meshes, 0, origin, way, 50.0),
                  nearest_of_mesh(rows, meshes, 0, origin, 50.0)]
    return [[float(number).hex() for number in met] for met in found]


@pytest.mark.process
def test_the_same_bits_without_the_compiler():
    """Plain Python finds the same."""
    assert uncompiled(answers) == answers()
