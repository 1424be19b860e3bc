# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""No two files use the same instance."""
import collections
import contextlib
import itertools
import pathlib
import re

import instances
import locks
import pytest

FOLDER = pathlib.Path(__file__).parent
FORMS = (r'^\w*INSTANCES?(?:, \w*INSTANCE)* = ([\d, ]+)', r"instance:=(\d+)",
         r"'--instance',\s*'?(\d+)'?", r"'instance': (\d+)")
CALCULATED = re.compile(
    r"INSTANCE [-+*] |'(?:--)?instance'[,:]\s[^,)}\n]* [-+*] |instance:=\{[^}]*[-+*]")


def test_each_instance_belongs_to_one_file():
    files = collections.defaultdict(set)
    for path in FOLDER.rglob('*.py'):
        text = path.read_text(encoding='utf-8')
        assert not CALCULATED.search(text), f'{path}: whose instance is that?'
        for numbers in itertools.chain.from_iterable(
                re.findall(form, text, re.M) for form in FORMS):
            for number in re.findall(r'\d+', numbers):
                files[int(number)].add(path.name)
    assert len(files) > 15
    assert {number: names for number, names in files.items() if len(names) > 1} == {}
    shared = [i for worker in range(instances.WORKERS) for i in instances.of_worker(f'gw{worker}')]
    assert len(shared) == len(set(shared))
    assert not files.keys() & set(shared)


def test_there_are_no_more_workers_than_instances():
    with pytest.raises(AssertionError, match='instances for 5 workers only'):
        instances.of_worker("gw5")


def test_an_instance_is_no_other_run_s_as_long_as_a_test_has_it(instance, other_instance):
    assert instance != other_instance
    assert locks.lock(f'instance_{instance}') is None
    assert locks.lock(f'instance_{other_instance}') is None


def test_when_those_of_a_worker_are_taken_there_are_others():
    with contextlib.ExitStack() as stack:
        taken = [next(stack.enter_context(instances.free())) for _ in range(instances.EACH + 1)]
    assert len(set(taken)) == instances.EACH + 1
