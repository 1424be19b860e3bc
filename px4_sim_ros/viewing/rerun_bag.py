# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A recorded flight as Rerun shows it."""
from __future__ import annotations

import itertools
import typing

import numpy as np
import rerun

from px4_sim_ros.recording.analysis.export import columns_of
from px4_sim_ros.recording.analysis.fleet_flight import read_fleet
from px4_sim_ros.recording.analysis.flight_events import marks, read_contents
from px4_sim_ros.recording.analysis.flight_facts import mission_waypoints
from px4_sim_ros.recording.analysis.series import read_series
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.schema import topic_type
from px4_sim_ros.recording.report.plots import COLOURS
from px4_sim_ros.spec.configuration import Configuration
from px4_sim_ros.viewing.links import sensor_links
from px4_sim_ros.viewing.rerun_log import RerunLog, entity_of
from px4_sim_ros.viewing.rerun_stream import (
    DISTANCE,
    VEHICLE,
    RerunStream,
    blueprint,
    fleet_blueprint,
    parts,
)

_MOST_LINES, _STAMPS = 4, 'timestamp'
_POINTS = -1.5                   # of the screen
_LEVELS = {'warning': 'WARN', 'error': 'ERROR'}


def write_vehicle(
    bag: BagReader, stream: rerun.RecordingStream, **look: typing.Any,
) -> None:
    contents = read_contents(bag)
    series = contents.series
    odometry = series.get('ground_truth/odom')
    start_m = odometry['position_m'].values[0] if odometry else (0.0, 0.0, 0.0)
    places = mission_waypoints(bag.run, start_m) if odometry else []
    configuration, lines = bag.run.configuration({}), marks(bag.run, contents)
    log = RerunLog(stream, configuration, places, **look)
    log.add(series)
    own = RerunStream(stream, look.get('namespace', ''))
    _add_own_topics(bag, own)
    images = _add_seen(bag, own, configuration)
    if not look:                  # of several vehicles all are arranged together
        stream.send_blueprint(blueprint(configuration, start_m, images))
    for mark in lines:
        log.log_text(mark.start_s, _LEVELS.get(mark.kind, 'INFO'), mark.who or mark.kind, mark.text)


def _add_own_topics(bag: BagReader, stream: RerunStream) -> None:
    """Plot the numbers of PX4's own topics, a line for each of a few."""
    for topic, fields in read_series(bag, bag.added).items() if bag.added else ():
        for field, its in fields.items():
            count = its.values.shape[1]
            if count <= _MOST_LINES and not field.startswith(_STAMPS):
                stream.plot(f'/{topic}/{field}', its.time_s, its.values, columns_of(field, count),
                            '')


def _add_seen(
    bag: BagReader, stream: RerunStream, configuration: Configuration,
) -> dict[str, bool]:
    """Show images, clouds and scans in the frames of their sensors.

    Return the entities of images, and whether they have a calibration.

    A frame that the vehicle does not have is taken for the body's.
    """
    kinds = {row.topic: topic_type(bag.run.graph, row.topic)
             for row in configuration.world.own_blocks}
    topics = {topic: _SEEN[kind] for topic, kind in kinds.items() if kind in _SEEN}
    images, calibrated = set(), set()
    if not topics:
        return {}
    for link in sensor_links(configuration):
        stream.log_static(entity_of(link), rerun.Transform3D(
            translation=link.position_m,
            quaternion=rerun.Quaternion(xyzw=np.roll(link.attitude, -1))))
    scene = configuration.scene
    names = ['sky', 'ground', *(its.name for its in (scene.objects if scene else ()))]
    stream.log_static(VEHICLE, rerun.AnnotationContext(list(enumerate(names))))
    for message in bag.messages():
        if show := topics.get(message.topic):
            decoded = bag.decode(message)
            frame = entity = f'{VEHICLE}/{decoded.header.frame_id}'
            if show is _pinhole:                 # of the frame, and of all that is in it
                calibrated.add(frame)
            else:
                entity = f'{frame}/{message.topic}'
            if show is _image:
                images.add((entity, frame))
            stream.log(entity, message.time_us, show(decoded))
    return {entity: frame in calibrated for entity, frame in sorted(images)}


def _pinhole(info: typing.Any) -> rerun.Pinhole:
    return rerun.Pinhole(image_from_camera=np.reshape(info.k, (3, 3)),
                         resolution=(info.width, info.height))


def _image(image: typing.Any) -> rerun.AsComponents:
    dtype, archetype = _ENCODINGS.get(image.encoding, (None, None))
    if dtype is None or archetype is None:
        return rerun.TextDocument(f'an image with the encoding {image.encoding}')
    rows = np.asarray(image.data, np.uint8).reshape(image.height, image.step).view(dtype)
    pixels = rows.reshape(image.height, image.width, -1)
    if archetype is rerun.DepthImage:            # 0 is what Rerun does not show
        metres = 1.0 if image.encoding == '32FC1' else 1e3
        return rerun.DepthImage(np.where(np.isfinite(pixels), pixels, 0)[..., 0], meter=metres)
    return archetype(pixels if pixels.shape[2] > 1 else pixels[..., 0])


def _cloud(cloud: typing.Any) -> rerun.Points3D:
    offsets = {field.name: field.offset for field in cloud.fields}
    points = np.frombuffer(bytes(cloud.data), np.dtype({
        'names': list('xyz'), 'formats': ['<f4'] * 3, 'offsets': [offsets[axis] for axis in 'xyz'],
        'itemsize': cloud.point_step}))
    return rerun.Points3D(np.stack([points[axis] for axis in 'xyz'], axis=1), radii=_POINTS)


def _scan(scan: typing.Any) -> rerun.Points3D:
    ranges_m = np.asarray(scan.ranges, float)
    angles_rad = scan.angle_min + scan.angle_increment * np.arange(len(ranges_m))
    is_met = np.isfinite(ranges_m)
    x_m, y_m = (ranges_m * turn(angles_rad) for turn in (np.cos, np.sin))
    return rerun.Points3D(np.stack([x_m, y_m, np.zeros_like(x_m)], axis=1)[is_met], radii=_POINTS)


def write_fleet(
    bags: typing.Sequence[BagReader], stream: rerun.RecordingStream,
) -> None:
    """Write all of a recording, each vehicle below its namespace in a colour of its own."""
    flight = read_fleet(bags[0])
    places = np.concatenate([*flight.positions_m.values(), [(0.0, 0.0, 0.0)]])
    stream.send_blueprint(fleet_blueprint(
        list(flight.members), (np.nanmin(places, axis=0), np.nanmax(places, axis=0))))
    for bag, (name, nearest_m), colour in zip(
            bags, flight.nearest_m.items(), itertools.cycle(COLOURS)):
        write_vehicle(bag, stream, namespace=name, path_colour=parts(colour))
        is_known = ~np.isnan(nearest_m)
        if is_known.any():
            RerunStream(stream, name).plot(
                DISTANCE, flight.time_s[is_known], nearest_m[is_known, None], (name,), 'm',
                (colour,))


_ENCODINGS: dict[str, tuple[str, typing.Any]] = {
    'rgb8': ('u1', rerun.Image), 'mono8': ('u1', rerun.Image),
    '16UC1': ('<u2', rerun.SegmentationImage), '32FC1': ('<f4', rerun.DepthImage)}
_SEEN: dict[str, typing.Callable[[typing.Any], typing.Any]] = {
    'sensor_msgs/msg/CameraInfo': _pinhole, 'sensor_msgs/msg/Image': _image,
    'sensor_msgs/msg/PointCloud2': _cloud, 'sensor_msgs/msg/LaserScan': _scan}
