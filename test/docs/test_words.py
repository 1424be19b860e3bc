# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Documents, docstrings, comments, names and messages have the words of the field."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTEAD = {
    'nobody': 'no node, no process, nothing', 'somebody': 'another node, a process, by hand',
    'anybody': 'another node', 'whoever': 'a subscriber, the caller, the owner',
    'told': 'reported, given, measured, identified', 'of ours': 'of this package',
    'any more': 'from then on, or another verb', 'goes on': 'runs, continues',
    'go on': 'run, continue', 'went on': 'ran', 'going on': 'running',
    'return what': 'return and a noun', 'yield what': 'yield and a noun',
    'take note': 'record'}
WORDS = re.compile(rf'(?<![a-z])(?:{"|".join(INSTEAD)})(?![a-z])', re.I)
TEXTS = {'.py', '.md', '.rst', '.yaml', '.xml', '.cfg', '.toml', '.txt'}


def texts(folder):
    """Return the texts below a folder, but for the journal, which stays as it was written."""
    return [path for path in sorted((ROOT / folder).rglob('*'))
            if path.suffix in TEXTS and 'journal' not in path.parts]


def found(paths):
    return [f'{path.relative_to(ROOT)}:{number}: {word}, better: {INSTEAD[word.lower()]}'
            for path in paths
            for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1)
            for word in WORDS.findall(line)]


def test_the_documents():
    names = 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.rst', 'Makefile', 'package.xml'
    assert not found([*texts('docs'), *(ROOT / name for name in names)])


@pytest.mark.parametrize('folder', ['benchmarks', 'config', 'examples', 'launch'])
def test_what_comes_along(folder):
    assert not found(texts(folder))


@pytest.mark.parametrize('room', sorted(
    path.name for path in (ROOT / 'px4_sim_ros').iterdir() if path.is_dir()))
def test_a_room(room):
    assert not found(texts(f'px4_sim_ros/{room}'))


@pytest.mark.parametrize('line', ['NOBODY = ()', 'self._told = 1', 'It goes on.', 'Whoever reads'])
def test_words_are_found(line, tmp_path, monkeypatch):
    monkeypatch.setattr(f'{__name__}.ROOT', tmp_path)
    (tmp_path / 'a.py').write_text(line)
    assert found([tmp_path / 'a.py'])
