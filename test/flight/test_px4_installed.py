# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A PX4 is found in a source tree or where its package is; what it lacks is named."""
import pytest

from px4_sim_ros.cli import command_line
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.px4 import installed, sitl
from px4_sim_ros.px4.sitl import ONE_CORE, REPEATABLE, Px4

LOCKED = b"\0INFO mlockall() enabled. PX4's virtual address space is locked into RAM.\0"


def make(folder, *, program=b'\0v1.17.0-alpha1\0', modules='simulator_mavlink', airframe=10016):
    """Make what PX4's package installs in /opt, as far as it is looked at."""
    airframes = folder / 'etc' / 'init.d-posix' / 'airframes'
    airframes.mkdir(parents=True)
    (airframes / f'{airframe}_none_iris').touch()
    (folder / 'bin').mkdir()
    (folder / 'bin' / 'px4').write_bytes(program)
    (folder / 'bin' / 'px4').chmod(0o755)
    (folder / 'bin' / 'px4-alias.sh').write_text(f"alias {modules}='px4-{modules} --instance'\n")
    return folder


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return where a PX4 is looked for, in order."""
    found = [tmp_path / name for name in ('PX4-Autopilot', 'px4-gazebo', 'px4')]
    monkeypatch.setattr(installed, '_PLACES', tuple(map(str, found)))
    monkeypatch.delenv('PX4_DIR', raising=False)
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'))
    (tmp_path / 'bin').mkdir()
    return found


def test_a_package_flies_as_a_tree_does(tmp_path):
    package = make(tmp_path / 'opt' / 'px4-gazebo')
    tree = make(tmp_path / 'tree' / 'build' / 'px4_sitl_default')
    assert installed.build_of(package) == package
    assert installed.build_of(tmp_path / 'tree') == installed.build_of(tree) == tree
    assert Px4(package).release == (1, 17)
    assert Px4(package).messages == ''


@pytest.mark.parametrize('named', ['', 'auto'])
def test_the_first_one_is_found(places, named, monkeypatch, tmp_path):
    elsewhere = make(tmp_path / 'elsewhere')
    (tmp_path / 'bin' / 'px4').symlink_to(elsewhere / 'bin' / 'px4')      # as its package does
    assert installed.build_of(named) == elsewhere
    for place in reversed(places[1:]):
        make(place)
        assert installed.build_of(named) == place
    tree = make(places[0] / 'build' / 'px4_sitl_default')
    assert installed.build_of(named) == tree
    monkeypatch.setenv('PX4_DIR', str(places[2]))
    assert installed.build_of(named) == places[2]


def test_one_that_cannot_fly_is_passed_over_and_named_if_there_is_no_other(places):
    make(places[1], program=LOCKED)
    make(places[2])
    assert installed.build_of('auto') == places[2]
    (places[2] / 'bin' / 'px4').unlink()
    with pytest.raises(ParameterError, match=r'^px4_dir: missing: there is no PX4 in .* or on the'
                       r' PATH; give the folder .*; .*px4-gazebo: this PX4 was built without lock'):
        installed.build_of('auto')


@pytest.mark.parametrize(('wrong', 'sentence'), [
    ({'program': LOCKED}, 'this PX4 was built without lockstep; take one without'),
    ({'modules': 'simulator_sih'}, 'this PX4 has no module simulator_mavlink; build it with')])
def test_what_it_lacks_is_named(tmp_path, wrong, sentence):
    make(tmp_path / 'px4', **wrong)
    with pytest.raises(ParameterError) as error:
        Px4.find(tmp_path / 'px4')
    assert str(error.value).startswith(f"px4_dir = {tmp_path / 'px4'}: {sentence}")


def test_an_airframe_that_it_lacks_is_named(tmp_path, capsys):
    make(tmp_path / 'px4', airframe=4001)
    words = ['fly', '--mode', 'core', '--autopilot', 'px4', '--px4', str(tmp_path / 'px4'),
             '--px4-schedule', 'one-core']
    assert command_line.main(words) == 2
    assert 'fly: vehicle iris: px4_airframe = 10016: the PX4 in' in capsys.readouterr().err


@pytest.mark.parametrize(('wrong', 'schedule'), [('', REPEATABLE), ('no right', ONE_CORE)])
def test_a_flight_repeats_where_the_user_may(tmp_path, monkeypatch, wrong, schedule):
    monkeypatch.setattr(sitl, 'no_priority', lambda: wrong)
    assert Px4.find(make(tmp_path / 'px4'), None).schedule == schedule


def test_where_it_may_not_the_line_that_allows_it_is_said(tmp_path, monkeypatch, capsys):
    (tmp_path / 'chrt').write_text('#!/bin/sh\nexit 1\n')
    (tmp_path / 'chrt').chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=':')
    monkeypatch.setenv('ROS_HOME', str(tmp_path))
    package = make(tmp_path / 'px4', program=b'#!/bin/sh\nexit 3\n')
    words = ['fly', '--mode', 'core', '--autopilot', 'px4', '--px4', str(package)]
    assert command_line.main(words) == 1
    assert (
        'fly: this flight will not repeat bit for bit: this user may not use SCHED_FIFO; allow it'
        ' rtprio 50 in /etc/security/limits.d, or give a container --cap-add=SYS_NICE'
    ) in capsys.readouterr().err.splitlines()
