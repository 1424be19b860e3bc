# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A file that is replaced is whole at any time, also when nothing can be written any more."""
import errno

import bags
import pytest

from px4_sim_ros.recording.bag.replaced_file import ReplacedFile

CONTENTS = [b'first', b'the second', b'third', b'a fourth one', b'5', b'sixth' * 2000, b'']


@pytest.fixture
def file(tmp_path):
    file = ReplacedFile(tmp_path / 'about.txt')
    yield file
    file.close()


def content(folder):
    return (folder / 'about.txt').read_bytes()


def test_it_has_the_last_content_whatever_its_length(file, tmp_path):
    nodes = set()
    for its in CONTENTS:
        file.replace(its)
        assert content(tmp_path) == its
        nodes.add((tmp_path / 'about.txt').stat().st_ino)
    assert len(nodes) == 2


def test_who_has_it_open_reads_it_whole_until_the_next_but_one(file, tmp_path):
    file.replace(b'first')
    with open(tmp_path / 'about.txt', 'rb') as opened:
        file.replace(b'second')
        assert opened.read() == b'first'


def test_nothing_is_left_beside_it(file, tmp_path):
    for its in CONTENTS:
        file.replace(its)
    file.close()
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ['about.txt']


@pytest.mark.parametrize('before', [1, 2, 3])
def test_a_full_disk_leaves_the_one_before(before, file, tmp_path):
    for its in CONTENTS[:before]:
        file.replace(its)
    with bags.largest_file(100), pytest.raises(OSError, match='File too large'):
        file.replace(bytes(101))
    assert content(tmp_path) == CONTENTS[before - 1]
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ['about.txt']


def test_a_disk_without_links_gets_a_new_file_each_time(file, tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(errno.EPERM, 'Operation not permitted')

    monkeypatch.setattr('os.link', fail)
    for its in CONTENTS:
        file.replace(its)
        assert content(tmp_path) == its
        assert [path.name for path in tmp_path.iterdir()] == ['about.txt']


def test_one_that_somebody_takes_away_is_there_again(file, tmp_path):
    for its in CONTENTS:
        file.replace(its)
        (tmp_path / 'about.txt').unlink()
        file.replace(its)
        assert content(tmp_path) == its
