# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A PX4 that was killed leaves a socket, which no PX4 of another user can replace."""
import os
import pathlib
import re
import socket

import pytest

from px4_sim_ros.flight import px4
from px4_sim_ros.flight.px4 import Px4, Px4Process, check_socket
from px4_sim_ros.model.errors import ParameterError


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(px4, '_FOLDER', tmp_path)
    return tmp_path / 'px4-sock-3'


def serve(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def test_that_of_a_px4_that_runs_stays(path):
    check_socket(3)          # there is none
    with serve(path):
        check_socket(3)
        assert path.exists()
    check_socket(3)
    assert not path.exists()


def test_that_of_another_user_is_one_sentence(path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError

    serve(path).close()
    monkeypatch.setattr(pathlib.Path, 'unlink', refuse)
    with pytest.raises(ParameterError, match=(
            rf'^instance = 3: {re.escape(str(path))} belongs to the PX4 of another user; remove it'
            ' if that does not run any more, or choose another instance$')):
        check_socket(3)


def test_one_that_has_ended_leaves_none(path, tmp_path):
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin' / 'px4').symlink_to('/bin/true')
    serve(path).close()
    Px4Process(Px4(tmp_path, 'all-cores'), 3, os.environ, tmp_path).stop()
    assert not path.exists()
