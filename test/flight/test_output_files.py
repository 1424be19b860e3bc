# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What cannot be written is refused before the start."""
import os
import pathlib

import pytest

from px4_sim_ros.cli import command_line
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.resources import check_writable


def refusal(path):
    with pytest.raises(ParameterError) as error:
        check_writable('json', path)
    return str(error.value)


def test_what_can_be_written_is_taken(tmp_path):
    check_writable('json', None)
    check_writable('json', tmp_path / 'new.json')
    assert list(tmp_path.iterdir()) == []
    (tmp_path / 'old.json').write_text('kept')
    check_writable('json', tmp_path / 'old.json')
    assert (tmp_path / 'old.json').read_text() == 'kept'


def test_a_folder_is_refused(tmp_path):
    assert refusal(tmp_path) == f'json {tmp_path}: is a folder; name a file'


def test_a_parent_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / 'README.md').touch()
    path = tmp_path / 'README.md' / 'x'
    assert refusal(path) == f'json {path}: {tmp_path}/README.md is no folder'


def test_a_parent_that_is_not_there_is_refused(tmp_path):
    path = tmp_path / 'none' / 'x'
    assert refusal(path) == f'json {path}: its folder is missing or cannot be written'


def test_a_folder_in_which_nothing_can_be_made_is_refused():
    """Also where permissions do not say so."""
    assert refusal(pathlib.Path('/proc/x.json')) == (
        'json /proc/x.json: cannot be made in /proc: No such file or directory')


def test_a_file_that_is_only_for_reading_is_refused(tmp_path, monkeypatch):
    path = tmp_path / 'kept.json'
    path.touch()
    # The superuser may write all files.
    monkeypatch.setattr(os, 'access', lambda asked, mode: asked != path)
    assert refusal(path) == f'json {path}: exists and cannot be written; name another file'


@pytest.mark.parametrize('words', [
    ['report', 'bag', '-o', 'out.pdf'], ['fly', '--report', 'out.pdf'],
    ['compare', 'a', 'b', '--plot', 'out.pdf'], ['replay', 'a', '--plot', 'out.pdf']])
def test_a_page_has_the_name_of_one(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'a').mkdir()
    assert command_line.main(words) == 2
    line, = capsys.readouterr().err.splitlines()
    assert line.endswith(' out.pdf: is a page; its name must end with .html')


def test_a_recording_that_cannot_be_made_is_found_before_the_start(capsys):
    """Also where permissions do not say so."""
    assert command_line.main(['fly', '--mode', 'core', '--record', '/proc/none/bag']) == 2
    line, = capsys.readouterr().err.splitlines()
    assert line.startswith(
        'fly: record /proc/none/bag: cannot be made in /proc: No such file')
