# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The order of the files is that of a list, and the list is about files that are there."""
import pathlib
import types

import longest_first

FOLDER = pathlib.Path(__file__).parent


def test_each_file_is_there_and_once():
    assert len(set(longest_first.FILES)) == len(longest_first.FILES)
    for name in longest_first.FILES:
        assert (FOLDER / name).is_file(), name


def test_they_come_first_and_their_tests_stay_in_order():
    names = ['model/test_wind.py', longest_first.FILES[1], 'docs/test_readme.py',
             longest_first.FILES[0], longest_first.FILES[1]]
    items = [types.SimpleNamespace(path=FOLDER / name, number=i) for i, name in enumerate(names)]
    longest_first.sort(items)
    assert [item.number for item in items] == [3, 1, 4, 0, 2]
