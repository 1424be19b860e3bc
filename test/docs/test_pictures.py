# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documents are there, small, and the graph is that of the code."""
import importlib.util
import pathlib
import re

import pytest

from docs import make_tables as tables
from px4_sim_ros.step import graph

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN = sorted({
    (path.parent / name).resolve() for path in tables.documents(ROOT)
    for name in re.findall(r'!\[[^]]+\]\(([^)]+)\)', path.read_text(encoding='utf-8'))})
LARGEST_BYTES = 500_000


def test_all_pictures_are_shown():
    assert {path.name for path in SHOWN} == {
        'graph.svg', 'scene.png', 'flight.png', 'report.png', 'campaign.png', 'campaign_px4.png',
        'learning.png', 'scenes.jpg', 'vehicles.jpg', 'fleet.png', 'faults.png', 'repeats.png',
        'px4_topics.png'}


def test_each_row_of_the_table_of_simulators_leads_to_a_picture():
    page = (ROOT / 'docs' / 'limits.md').read_text(encoding='utf-8')
    table = page[page.index('Gazebo Classic with PX4 |'):page.index('**How fast**')]
    rows = re.findall(r'^\| (.+?) \|', table, re.M)[1:]
    assert len(rows) == 18
    for row in rows:
        name = re.search(r'\(pictures/([^)]+)\)', row)
        assert name is not None and ROOT / 'docs' / 'pictures' / name[1] in SHOWN, row


@pytest.mark.parametrize('path', SHOWN, ids=lambda path: path.name)
def test_a_picture_is_there_and_small(path):
    assert 1000 < path.stat().st_size < LARGEST_BYTES


def test_the_picture_of_the_graph_is_that_of_the_code(tmp_path):
    pytest.importorskip('rerun', reason='rerun-sdk is not installed')
    spec = importlib.util.spec_from_file_location(
        'make_pictures', ROOT / 'docs' / 'make_pictures.py')
    make_pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_pictures)
    make_pictures.draw_graph(tmp_path / 'graph.svg')
    drawn, kept = (re.findall(r'<text[^>]*>([^<]+)</text>', path.read_text(encoding='utf-8'))
                   for path in (tmp_path / 'graph.svg', ROOT / 'docs' / 'pictures' / 'graph.svg'))
    assert sorted(drawn) == sorted(kept)
    names = {name.replace('_', ' ') for name in graph.NODES} - {
        'player', 'px4 topics', 'recorder', 'scenario', 'scenario player', 'wake player'}
    assert names <= set(kept)
    inside = {t.name for t in graph.TOPICS.values()
              if t.period != 'display' and t.publisher != 'scenario' and not t.wanted_by}
    assert inside <= set(kept)
