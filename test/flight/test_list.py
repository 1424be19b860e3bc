# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names that can be given to options."""
import contextlib
import re

import pytest

from px4_sim_ros.cli import command_line
from px4_sim_ros.model.faults.actions import ACTIONS
from px4_sim_ros.spec.resources import config_directory

KINDS = 'vehicles', 'profiles', 'missions', 'scenarios', 'actions', 'fleets', 'campaigns'
OPTIONS = {'campaigns': 'campaign', 'actions': 'events of scenarios'}


def names_of(kind):
    if kind == 'actions':
        return list(ACTIONS)
    return sorted(path.stem for path in (config_directory() / kind).iterdir())


@pytest.mark.parametrize('kind', KINDS)
def test_each_name_has_a_line(kind, capsys):
    assert command_line.main(['list', kind]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"{kind}, for {OPTIONS.get(kind, f'--{kind[:-1]}')}"
    assert [line.split()[0] for line in lines] == names_of(kind)
    assert all(len(line.split()) > 1 and len(line) < 120 for line in lines)


@pytest.mark.parametrize('words', [['list'], ['fly', '--list']])
def test_all_are_listed_by_default(words, capsys):
    with contextlib.suppress(SystemExit):      # an option ends as --help does
        assert command_line.main(words) == 0
    printed = capsys.readouterr().out
    assert re.search(r'^  iris +3DR Iris$', printed, re.MULTILINE)
    assert '  hover   Take off to 10 m, stay for two minutes, land\n' in printed
    assert len(printed.splitlines()) == sum(1 + len(names_of(kind)) for kind in KINDS)
