# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`doctor` says what a machine has, what it lacks and what to do."""
import importlib.metadata
import json
import socket

import pytest

from px4_sim_ros.cli import command_line, doctor
from px4_sim_ros.px4 import installed, sitl


@pytest.fixture
def found(capsys):
    """Return a function: the exit code, and state and advice by what was looked at."""
    def run(*words):
        code = command_line.main(['doctor', '--json', *words])
        said = json.loads(capsys.readouterr().out)
        assert said['can_fly'] == (code == 0)
        return code, {one['name']: one for one in said['findings']}
    return run


def test_each_has_a_line_and_what_is_not_there_has_advice(found, capsys):
    code, findings = found()
    assert code == 0
    for finding in findings.values():
        assert finding['state'] in doctor.STATES
        assert finding['found']
        assert bool(finding['advice']) == (finding['state'] != doctor.OK), finding
    assert {'priority', 'memory', 'ports', 'cores', 'compiled', 'px4', 'ros', 'viewers',
            'versions'} <= set(findings)
    assert command_line.main(['doctor']) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if '->' not in line]
    assert [line.split()[1] for line in lines] == list(findings)


def test_a_user_without_priority_is_given_the_line(found, monkeypatch):
    monkeypatch.setattr(sitl, '_PRIORITY', 'x')        # which chrt refuses
    code, findings = found()
    assert code == 0                                    # it flies, and does not repeat
    assert findings['priority']['state'] == doctor.LACKS
    assert findings['priority']['advice'].startswith('allow it rtprio')


def test_a_port_that_is_taken_is_named(found, monkeypatch):
    with socket.create_server(('127.0.0.1', 0)) as holder:
        port = holder.getsockname()[1]
        # Not that of instance 0, which the flights of other tests may just have found free.
        monkeypatch.setattr('px4_sim_ros.flight.autopilots.port_of', lambda instance: port)
        _, findings = found()
    assert findings['ports']['state'] == doctor.LACKS
    assert f'TCP port {port} is taken by' in findings['ports']['found']


def test_a_px4_that_is_named_has_to_fly(found, monkeypatch, tmp_path):
    code, findings = found('--px4', str(tmp_path))
    assert (code, findings['px4']['state']) == (1, doctor.FAILS)
    assert findings['px4']['advice'] == 'build it there with "make px4_sitl_default"'
    monkeypatch.delenv('PX4_DIR', raising=False)
    monkeypatch.setattr(installed, '_PLACES', ())
    monkeypatch.setattr(installed.shutil, 'which', lambda name: (
        None if name == 'px4' else name))
    code, findings = found()
    assert (code, findings['px4']['state']) == (0, doctor.LACKS)
    assert findings['px4']['advice'].startswith('give the folder')


def test_what_pip_has_not_installed_fails(found, monkeypatch):
    monkeypatch.setattr(importlib.metadata, 'requires', lambda name: [
        'numpy>=1.26', 'no-such-package>=3', "scipy; extra == 'campaign'"])
    code, findings = found()
    assert (code, findings['versions']['found']) == (1, 'no-such-package>=3 is not installed')
