# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The site of the documents: each page is on it, and none of its links is broken."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {path.relative_to(ROOT / 'docs').as_posix() for path in (ROOT / 'docs').rglob('*.md')}


def test_each_page_is_in_the_navigation():
    named = re.findall(r'[\w/]+\.md', (ROOT / 'mkdocs.yml').read_text(encoding='utf-8').partition(
        '\nnav:')[2])
    assert len(named) == len(set(named))
    assert set(named) == PAGES | {'index.md', 'CONTRIBUTING.md', 'examples/README.md'}


@pytest.mark.process       # the generator is a process
def test_the_site_is_built_without_a_broken_link(tmp_path):
    pytest.importorskip('material', reason='mkdocs-material is not installed')
    result = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, 'NO_MKDOCS_2_WARNING': '1'})
    assert result.returncode == 0, result.stderr
    index = json.loads((tmp_path / 'search' / 'search_index.json').read_text(encoding='utf-8'))
    found = {entry['location'].partition('#')[0] for entry in index['docs']}
    assert len(found) == len(PAGES) + 3
    for folder, name in ('.', 'CHANGELOG.rst'), ('examples', 'offboard.py'):
        assert (tmp_path / folder / name).is_file()
