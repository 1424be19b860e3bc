# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the documents: graph, scenes, vehicles, flights and their pages.

`make pictures` runs it. It flies, so the pictures show what the code does now. It needs the
package rerun-sdk, and two programs: `chromium`, and `xvfb-run` with a software Vulkan (on Debian:
`apt-get install chromium xvfb mesa-vulkan-drivers`).
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import rerun
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from PIL import Image
from transforms3d.euler import quat2euler

from px4_sim_ros.model.environment.ground import LEVEL
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import matrix, multiply, to_world, total
from px4_sim_ros.model.scene.colours import Eye
from px4_sim_ros.model.scene.rays import Pose
from px4_sim_ros.model.scene.scene import Scene
from px4_sim_ros.model.sensors.mounting import mounting_rotation
from px4_sim_ros.model.sensors.scanning import PinholeParameters
from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.analysis.flight_facts import mission_waypoints
from px4_sim_ros.recording.analysis.series import Series, read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.resources import config_directory
from px4_sim_ros.step import graph
from px4_sim_ros.viewing.links import rotor_link, servo_links, wheel_links
from px4_sim_ros.viewing.rerun_log import RerunLog
from px4_sim_ros.viewing.rerun_stream import blueprint
from px4_sim_ros.viewing.shapes import Kind, vehicle_shapes

_FOLDER = pathlib.Path(__file__).resolve().parent / 'pictures'
# A flight with something to see, up to the third corner of the square.
_FLIGHT = ['--mode', 'core', '--mission', 'square', '--wind', 'constant', '--seed', '1',
           '--instance', '29', '--set', 'instances.range_finder=1']
_SHOWN_UNTIL_S = 27.0
_SEEN = '''
vehicle: iris
scene: street
mission: [take_off: {up_m: 6.0}, hold: {duration_s: 60.0}, land: {}]
end: {at_s: 9}
blocks:
  - {class: 'px4_sim_ros:Camera', width: 640, height: 480, mounting_deg: [0, 12, 90]}
  - {class: 'px4_sim_ros:DepthCamera', width: 640, height: 480, mounting_deg: [0, 12, 90],
     max_range_m: 60}
  - {class: 'px4_sim_ros:LabelCamera', width: 640, height: 480, mounting_deg: [0, 12, 90]}
  - {class: 'px4_sim_ros:Lidar', max_range_m: 60}
'''
_WIDTH_PX, _COLOURS = 1280, 192
# Columns of the graph, from left to right; what is optional is drawn pale.
_COLUMNS = (
    ('manager',), ('wind', 'dynamics'),
    ('imu', 'magnetometer', 'barometer', 'gps', 'airspeed', 'range_finder', 'optical_flow',
     'visual_odometry'), ('hil_bridge',), ('PX4, or the\nembedded one', 'pilot'))
# Nothing of them is in a step by default.
_LEFT_OUT = 'pilot', 'player', 'recorder', 'scenario', 'scenario_player', 'wake_player'
_COLUMN, _HALF_BOX, _BELOW = 3.8, 1.05, -4.3
_GREY = '#7d8792'
_LABEL: dict[str, typing.Any] = {
    'ha': 'center', 'va': 'center', 'fontsize': 8, 'color': '#33404d', 'zorder': 2,
    'bbox': {'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.0}}


def draw_graph(path: pathlib.Path) -> None:
    """Draw the nodes and topics of a step."""
    whole = graph.of_instances({kind: 1 for kind, spec in graph.NODES.items()
                                if spec.optional and kind not in _LEFT_OUT})
    places = {name: (_COLUMN * column, 0.5 * (len(names) - 1) - row)
              for column, names in enumerate(_COLUMNS) for row, name in enumerate(names)}
    places |= {'wind': (_COLUMN, 2.5), 'dynamics': (_COLUMN, 0.0)}
    autopilot, pilot = _COLUMNS[-1]
    places |= {autopilot: (4 * _COLUMN, 0.0), pilot: (4 * _COLUMN, -2.5)}
    edges: dict[tuple[str, str], list[str]] = {}
    for topic in whole.topics.values():
        for peer in whole.subscribers(topic.name):
            if topic.publisher in places and peer in places:
                edges.setdefault((topic.publisher, peer), []).append(topic.name)
    edges |= {('hil_bridge', autopilot): ['HIL', 'TCP 4560'], (pilot, autopilot): ['MAVLink']}
    # The same file every time, with words that can be searched.
    matplotlib.rcParams |= {'svg.hashsalt': 'px4_sim_ros', 'svg.fonttype': 'none'}
    figure, axes = plt.subplots(figsize=(12.0, 6.6))
    for (start, end), topics in edges.items():
        if topics == [graph.COMMAND]:
            _draw_way_back(axes, places[start], places[end])
        else:
            _draw_edge(axes, places[start], places[end], _label(start, end, topics))
    axes.text(1.5 * _COLUMN, _BELOW, graph.COMMAND, **_LABEL)
    for name, place in places.items():
        _draw_node(axes, name, place)
    axes.set(xlim=(-1.2, 4 * _COLUMN + 1.2), ylim=(_BELOW - 0.3, 4.0))
    axes.axis('off')
    figure.savefig(path, bbox_inches='tight', metadata={'Date': None})
    plt.close(figure)


def _label(start: str, end: str, topics: list[str]) -> str:
    """Return the label of an arrow; that sensors and bridge hear the truth is said once."""
    if (start == 'dynamics' and end not in ('imu', 'hil_bridge')) or start == 'wind':
        return 'wind' if end == 'dynamics' else ''
    return '\n'.join(topic for topic in topics
                     if end != 'hil_bridge' or not topic.startswith('ground_truth/'))


def _draw_node(axes: plt.Axes, name: str, place: tuple[float, float]) -> None:
    ours = name in graph.NODES
    optional = ours and graph.NODES[name].optional
    x, y = place
    axes.add_patch(FancyBboxPatch(
        (x - _HALF_BOX + 0.1, y - 0.2), 2.0 * _HALF_BOX - 0.2, 0.4, boxstyle='round,pad=0.1',
        facecolor='#eef4fb' if ours else '#fdf1e3', edgecolor='#2f6fb0' if ours else '#d98a1f',
        linewidth=1.3, linestyle='--' if optional else '-', zorder=3))
    axes.text(x, y, name.replace('_', ' '), ha='center', va='center', zorder=4, fontsize=10)


def _draw_edge(
    axes: plt.Axes, start: tuple[float, float], end: tuple[float, float], label: str,
) -> None:
    upright = start[0] == end[0]
    gap = (0.0, 0.32) if upright else (_HALF_BOX, 0.0)
    sign = -1.0 if upright and end[1] < start[1] else 1.0
    tail = start[0] + gap[0], start[1] + sign * gap[1]
    head = end[0] - gap[0], end[1] - sign * gap[1]
    axes.add_patch(FancyArrowPatch(
        tail, head, arrowstyle='-|>', mutation_scale=10, linewidth=0.8, color=_GREY,
        shrinkA=0, shrinkB=0))
    # Where many arrows meet there is no room.
    share = 0.4 if end == (3 * _COLUMN, 0.0) and start[1] else 0.34 if end[1] > 3.0 else 0.5
    axes.text(tail[0] + share * (head[0] - tail[0]), tail[1] + share * (head[1] - tail[1]),
              label, **_LABEL)


def _draw_way_back(
    axes: plt.Axes, start: tuple[float, float], end: tuple[float, float],
) -> None:
    """Draw the command that ends a step, below all sensors, to where the next one begins."""
    corners = [(start[0], start[1] - 0.32), (start[0], _BELOW), (end[0], _BELOW)]
    axes.plot(*zip(*corners), color=_GREY, linewidth=0.8)
    axes.add_patch(FancyArrowPatch(
        corners[-1], (end[0], end[1] - 0.32), arrowstyle='-|>', mutation_scale=10, linewidth=0.8,
        color=_GREY, shrinkA=0, shrinkB=0))


def fly(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Fly, and return the recording and its report."""
    bag, report = folder / 'flight', folder / 'flight.html'
    subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros', 'fly', *_FLIGHT, '--record', bag, '--report',
         report], check=True)
    return bag, report


def draw_flight(bag_folder: pathlib.Path, path: pathlib.Path, scratch: pathlib.Path) -> None:
    """Draw what Rerun shows in the middle of a flight."""
    bag = BagReader(bag_folder)
    series = {topic: {name: _until(field) for name, field in fields.items()}
              for topic, fields in read_series(bag).items()}
    configuration = bag.run.configuration({})
    start = series['ground_truth/odom']['position_m'].values[0]
    stream = rerun.RecordingStream('px4_sim_ros')
    stream.save(scratch / 'flight.rrd')
    log = RerunLog(stream, configuration, mission_waypoints(bag.run, start))
    log.add(series)
    for mark in marks(bag.run, read_contents(bag)):
        if mark.start_s <= _SHOWN_UNTIL_S:
            log.log_text(mark.start_s, 'INFO', mark.who, mark.text)
    end = series['ground_truth/pose']['position_m'].values[-1]
    stream.send_blueprint(blueprint(configuration, end, {}, at_end=True))
    stream.flush()
    stream.disconnect()
    # The pointer is in the middle of the screen: outside of the window.
    subprocess.run(
        ['xvfb-run', '-a', '-s', '-screen 0 4000x2400x24', 'rerun', scratch / 'flight.rrd',
         '--screenshot-to', scratch / 'flight.png', '--window-size', '1440x810',
         '--renderer', 'vulkan'],
        check=True, env=os.environ | {'RUST_LOG': 'error'})
    shrink(scratch / 'flight.png', path)


def _until(field: Series) -> Series:
    kept = field.time_s <= _SHOWN_UNTIL_S
    return Series(field.time_s[kept], field.values[kept])


def draw_scene(path: pathlib.Path, scratch: pathlib.Path) -> None:
    """Draw what cameras and a lidar see of a scene."""
    (scratch / 'seen.yaml').write_text(_SEEN, encoding='utf-8')
    subprocess.run([sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--scenario',
                    scratch / 'seen.yaml', '--record', scratch / 'seen'], check=True)
    bag = BagReader(scratch / 'seen')
    last = {message.topic: message for message in bag.messages()}
    colour, depth, labels, cloud = (bag.decode(last[topic]) for topic in (
        'camera/image_raw', 'depth/image', 'labels/image_raw', 'lidar/points'))
    figure, ((top_left, top_right), (left, right)) = plt.subplots(
        2, 2, figsize=(12.8, 9.8), layout='constrained')
    for axes, image, of in ((top_left, colour, 'u1'), (top_right, depth, '<f4'),
                            (left, labels, '<u2')):
        pixels = np.frombuffer(image.data, of).reshape(image.height, image.width, -1)
        axes.imshow(pixels, cmap='nipy_spectral' if of == '<u2' else 'viridis_r')
        axes.set_axis_off()
    points = np.frombuffer(cloud.data, np.dtype({
        'names': [*'xyz'], 'formats': ['<f4'] * 3, 'offsets': [0, 4, 8],
        'itemsize': cloud.point_step}))
    right.scatter(-points['y'], points['x'], 0.3, points['z'])
    right.set(aspect='equal', xlim=(-40, 40), ylim=(-30, 30))
    for axes, what in ((top_left, 'colour'), (top_right, 'depth'), (left, 'labels'),
                       (right, 'lidar with 16 lines, from above')):
        axes.set_title(what)
    figure.savefig(scratch / 'seen.png')
    plt.close(figure)
    shrink(scratch / 'seen.png', path)


# Where each is seen from, east, north and up in m; how far to the left of east, and down, deg.
_FROM = {
    'street': ((-2, -28, 7), 92, 10), 'forest': ((-25, -25, 3), 45, 4),
    'warehouse': ((-9, -17, 9), 60, 24), 'hills': ((-95, -70, 32), 38, 14),
    'canyon': ((-62, -30, 45), 27, 24), 'landing_pad': ((0.8, 0.5, 1.8), 34, 32),
    'moving_deck': ((10, -12, 7), 45, 15), 'traffic': ((2, -38, 18), 53, 18)}


def look(
    scene: Scene | None, place: Vector, left_deg: float, down_deg: float, width: int,
) -> np.ndarray:
    """Return the image of a camera after 20 s; three quarters as high as wide."""
    slopes = PinholeParameters(width=width, height=width * 3 // 4).slopes
    eye = Eye(scene, LEVEL, slopes / np.linalg.norm(slopes, axis=1)[:, None], 1000.0, 1.0, 32)
    eye.look(Pose(place, matrix(mounting_rotation((0.0, down_deg, left_deg))),
                  time_us=20_000_000))
    return eye.image.reshape(width * 3 // 4, width, 3)


def draw_scenes(path: pathlib.Path) -> None:
    """Draw the scenes of the package."""
    tiles = [look(Files().scene(name), *seen, 320) for name, seen in _FROM.items()]
    Image.fromarray(np.vstack([np.hstack(tiles[i:i + 4]) for i in (0, 4)])).save(path, quality=80)


def draw_vehicles(path: pathlib.Path) -> None:
    """Draw the vehicles of the package side by side, as viewers show them."""
    objects: list[dict[str, typing.Any]] = []
    names = sorted(file.stem for file in (config_directory() / 'vehicles').glob('*.yaml'))
    for i, name in enumerate(names):
        vehicle = Files().vehicle(name)
        links = {link.frame: link for link in (
            *(rotor_link(vehicle, k) for k in range(len(vehicle.rotors))),
            *servo_links(vehicle), *wheel_links(vehicle))}
        middle = 2.4 * (i // 5), -2.4 * (i % 5), -min(z for _, _, z in vehicle.all_points_m)
        for shape in vehicle_shapes(vehicle):
            place, attitude, frame = shape.position_m, shape.attitude, shape.frame
            while link := links.get(frame):
                place = total(link.position_m, to_world(matrix(link.attitude), place))
                attitude, frame = multiply(link.attitude, attitude), link.parent
            x, _, z = shape.size_m
            sizes: dict[Kind, dict[str, typing.Any]] = {
                Kind.BOX: {'size_m': [*shape.size_m]}, Kind.SPHERE: {'radius_m': 0.5 * x},
                Kind.CYLINDER: {'radius_m': 0.5 * x, 'height_m': z}}
            if shape.colour[3] == 1.0:
                objects.append({
                    'name': f'{name}_{shape.name}', 'shape': shape.kind.value, **sizes[shape.kind],
                    'place_m': [*total(place, middle)], 'colour': [*shape.colour[:3]],
                    'roll_pitch_yaw_deg': [*np.degrees(quat2euler(attitude))]})
    scene = Scene.from_mapping('vehicles', 'vehicles', {'objects': objects})
    image = look(scene, (-4.5, -4.8, 3.6), 0.0, 34.0, 1280)
    Image.fromarray(image[300:640]).save(path, quality=80)


def fly_campaign(folder: pathlib.Path, *more: str) -> pathlib.Path:
    """Fly the campaign of docs/campaigns.md, which takes some minutes; return its page."""
    subprocess.run(
        [sys.executable, '-m', 'px4_sim_ros', 'campaign', 'wind_limit', '--out', folder, *more],
        check=True)
    return folder / 'report.html'


def draw_page(
    page: pathlib.Path, path: pathlib.Path, scratch: pathlib.Path, height_px: int,
) -> None:
    """Draw the top of a page."""
    subprocess.run(
        ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
         '--enable-unsafe-swiftshader', f'--window-size=1440,{height_px}',
         '--virtual-time-budget=15000', f"--screenshot={scratch / 'page.png'}", page.as_uri()],
        check=True, capture_output=True)
    shrink(scratch / 'page.png', path)


def shrink(source: pathlib.Path, path: pathlib.Path) -> None:
    """Write a picture small enough for a repository."""
    with Image.open(source) as picture:
        height_px = round(picture.height * _WIDTH_PX / picture.width)
        small = picture.convert('RGB').resize((_WIDTH_PX, height_px), Image.Resampling.LANCZOS)
        small.quantize(_COLOURS).save(path, optimize=True)


def main() -> int:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--only', choices=(
        'graph', 'scene', 'scenes', 'flights', 'flight', 'report', 'fleet', 'campaign'))
    only = parser.parse_args().only
    needed = {'graph': (), 'scene': (), 'scenes': (), 'flights': (), 'flight': ('xvfb-run',),
              None: ('xvfb-run', 'chromium')}
    for program in needed.get(only, ('chromium',)):
        if shutil.which(program) is None:
            print(f'pictures: the program {program} is not installed', file=sys.stderr)
            return 1
    _FOLDER.mkdir(exist_ok=True)
    if only in (None, 'graph'):
        draw_graph(_FOLDER / 'graph.svg')
    if only == 'graph':
        return 0
    if only in (None, 'scenes'):
        draw_scenes(_FOLDER / 'scenes.jpg')
        draw_vehicles(_FOLDER / 'vehicles.jpg')
    if only == 'scenes':
        return 0
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        if only in (None, 'scene'):
            draw_scene(_FOLDER / 'scene.png', scratch)
        if only == 'scene':
            return 0
        if only in (None, 'flights'):
            import plot_flights  # beside this file, where a script finds it
            plot_flights.draw_faults(_FOLDER / 'faults.png', scratch)
            plot_flights.draw_repeats(_FOLDER / 'repeats.png', scratch)
            if 'PX4_DIR' in os.environ:        # the picture stays as it is without one
                plot_flights.draw_px4_topics(_FOLDER / 'px4_topics.png', scratch)
        if only == 'flights':
            return 0
        if only in (None, 'fleet'):
            subprocess.run([sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', 'core', '--fleet',
                            'collision', '--report', scratch / 'fleet.html'], check=True)
            draw_page(scratch / 'fleet.html', _FOLDER / 'fleet.png', scratch, 1100)
        if only == 'fleet':
            return 0
        if only in (None, 'campaign'):
            draw_page(
                fly_campaign(scratch / 'campaign'), _FOLDER / 'campaign.png', scratch, 1900)
            if 'PX4_DIR' in os.environ:        # the picture stays as it is without one
                draw_page(fly_campaign(scratch / 'px4', '--autopilot', 'px4', '--runs', '64'),
                          _FOLDER / 'campaign_px4.png', scratch, 1900)
        if only == 'campaign':
            return 0
        bag, page = fly(scratch)
        if only in (None, 'flight'):
            draw_flight(bag, _FOLDER / 'flight.png', scratch)
        if only in (None, 'report'):
            draw_page(page, _FOLDER / 'report.png', scratch, 1500)
    return 0


if __name__ == '__main__':
    sys.exit(main())
