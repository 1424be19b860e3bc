# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A few small pictures of what the cameras of a flight have seen."""
from __future__ import annotations

import base64
import math
import struct
import typing
import zlib

import numpy as np

from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.report.report_page import text

IMAGE = 'sensor_msgs/msg/Image'
MOST_BYTES = 100_000               # of all stills on a page
_MOST_CAMERAS, _EACH = 2, 4
_LARGEST_PX = 320                  # of a side
_COLOURS = 'rgb8'
_SIZES = {_COLOURS: 3, '32FC1': 4}         # of a pixel, bytes, by encoding
_PER_BASE64 = 3 / 4
_BYTE = 255


def stills(bag: BagReader, counts: typing.Mapping[str, int]) -> str:
    """Return stills of the first cameras of a recording as HTML, '' without any.

    :param counts: how many messages there are, by topic
    """
    topics = [name for name in bag.run.graph.own_topics
              if bag.run.graph.topics[name].type == IMAGE and counts.get(name)]
    wanted = {name: {(2 * k + 1) * counts[name] // (2 * _EACH) for k in range(_EACH)}
              for name in topics}
    seen = dict.fromkeys(topics, 0)
    found: dict[str, list[tuple[int, np.ndarray]]] = {}
    for message in bag.messages() if topics else ():
        if message.topic not in seen:
            continue
        if seen[message.topic] in wanted[message.topic]:
            image = bag.decode(message)
            size = image.height * image.width * _SIZES.get(image.encoding, 0)
            if 0 < size == len(image.data) and (
                    message.topic in found or len(found) < _MOST_CAMERAS):
                found.setdefault(message.topic, []).append((message.time_us, _pixels(image)))
        seen[message.topic] += 1
    images = sum(map(len, found.values()))
    return ''.join(_figure(topic, time_us, _small_png(
        pixels, int(_PER_BASE64 * MOST_BYTES / images)))
        for topic, its in found.items() for time_us, pixels in its)


def _figure(topic: str, time_us: int, png: bytes) -> str:
    caption = text(f'{topic}, {time_us / US_PER_S:.2f} s')
    data = base64.b64encode(png).decode()
    return (f'<figure style="display:inline-block;margin:.3rem .8rem .3rem 0">'
            f'<img style="width:15rem;max-width:100%" alt="{caption}"'
            f' src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>')


def _pixels(image: typing.Any) -> np.ndarray:
    """Return rows of pixels, of one value or three; what is nearest in a depth image is white."""
    data = np.asarray(image.data, np.uint8)
    if image.encoding == _COLOURS:
        return data.reshape(image.height, image.width, 3)
    depth = data.view('<f4').reshape(image.height, image.width, 1)
    is_met = np.isfinite(depth)
    farthest = depth[is_met].max(initial=0.0) or 1.0
    return np.where(is_met, _BYTE * (1.0 - 0.8 * depth / farthest), 0.0).astype(np.uint8)


def _small_png(pixels: np.ndarray, most_bytes: int) -> bytes:
    """Return an image as PNG, as many times smaller as it has to be."""
    times = math.ceil(max(pixels.shape[:2]) / _LARGEST_PX)
    while True:
        png = _png(_shrunk(pixels, times))
        if len(png) <= most_bytes or times >= max(pixels.shape[:2]):
            return png
        times += 1


def _shrunk(pixels: np.ndarray, times: int) -> np.ndarray:
    """Return the means of squares of pixels."""
    height, width, values = pixels.shape
    rows, columns = max(1, height // times), max(1, width // times)
    squares = pixels[:rows * times, :columns * times].reshape(
        rows, min(times, height), columns, min(times, width), values)
    means: np.ndarray = squares.mean(axis=(1, 3)).astype(np.uint8)
    return means


def _png(pixels: np.ndarray) -> bytes:
    """Return an image as PNG (https://www.w3.org/TR/png), each pixel as its way from the left."""
    height, width, values = pixels.shape
    ways = np.diff(pixels, axis=1, prepend=np.zeros((height, 1, values), np.uint8))
    rows = np.column_stack((np.ones(height, np.uint8), ways.reshape(height, -1)))
    head = struct.pack('>IIBBBBB', width, height, 8, 2 if values == 3 else 0, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + b''.join(
        struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
        for name, data in ((b'IHDR', head), (b'IDAT', zlib.compress(rows.tobytes(), 9)),
                           (b'IEND', b'')))
