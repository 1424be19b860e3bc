# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stills of cameras on the page of a flight: as another library reads them, and how large."""
import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from report_flights import fly

from px4_sim_ros.model.own_blocks import to_text
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.report.flight_report import report
from px4_sim_ros.recording.report.stills import MOST_BYTES, _png, _small_png
from px4_sim_ros.spec.own_blocks import rows_of

BLOCKS = [{'class': f'px4_sim_ros:{kind}', 'width': 64, 'height': 48, 'mounting_deg': [0, 40, 0]}
          for kind in ('LabelCamera', 'Camera', 'DepthCamera')]


@pytest.fixture(scope='module')
def flown(tmp_path_factory):
    """Return a flight with cameras, and its page."""
    folder = tmp_path_factory.mktemp('stills') / 'bag'
    fly(folder, 2.0, {'': {'scene': 'street', 'blocks': to_text(rows_of({'test': BLOCKS}))}})
    bag = BagReader(folder)
    return bag, report(bag)


def images_of(page):
    """Return the images of a page by what stands below them."""
    found = re.findall(r'alt="([^"]*)" src="data:image/png;base64,([^"]*)"', page)
    assert sum(len(data) for _, data in found) <= MOST_BYTES
    return {caption: np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
            for caption, data in found}


def test_a_page_has_a_few_of_each_camera(flown):
    """They are images of the recording, pixel by pixel; those of labels are for programs."""
    bag, page = flown
    found = images_of(page)
    recorded = {f'{m.topic}, {m.time_us / 1e6:.2f} s': bag.decode(m) for m in bag.messages()
                if m.topic in ('camera/image_raw', 'depth/image')}
    assert len(found) == 8
    assert [caption.partition(',')[0] for caption in found] == [
        topic for topic in ('camera/image_raw', 'depth/image') for _ in range(4)]
    for caption, image in found.items():
        data = np.asarray(recorded[caption].data, np.uint8)
        if caption.startswith('camera'):
            assert np.array_equal(image, data.reshape(48, 64, 3))
        else:
            depth = data.view('<f4').reshape(48, 64)
            is_met = np.isfinite(depth)
            assert is_met.any() and not image[~is_met].any()
            nearer = depth[is_met][:-1] < depth[is_met][1:] - 0.5
            shades = image[is_met].astype(int)
            assert (shades[:-1] >= shades[1:])[nearer].all()
    assert '>What the cameras saw<' in page


def test_a_page_without_cameras_has_none(tmp_path):
    fly(tmp_path / 'bag', 0.5)
    page = report(BagReader(tmp_path / 'bag'))
    assert 'data:image' not in page and 'cameras saw' not in page


@pytest.mark.parametrize('shape', [
    (480, 640, 3), (1, 5000, 3), (480, 640, 1), (48, 64, 1), (1, 1, 1)])
def test_whatever_they_show_they_are_small(shape):
    pixels = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    small = _small_png(pixels, MOST_BYTES // 8)
    assert len(small) <= MOST_BYTES // 8
    assert max(Image.open(io.BytesIO(small)).size) <= 320
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(_png(pixels)))).reshape(shape), pixels)


def test_a_still_that_is_smaller_has_the_means():
    cells = np.random.default_rng(1).integers(0, 256, (200, 240, 1), np.uint8)
    pixels = cells.repeat(2, axis=0).repeat(2, axis=1)
    image = Image.open(io.BytesIO(_small_png(pixels, 1 << 20)))
    assert np.array_equal(np.asarray(image), cells[..., 0])
