# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A thousand scenario files that are damaged somewhere: each gets one sentence, or is read."""
import copy
import random

import pytest
import yaml

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.spec.configuration import checked_scenario, load_configuration
from px4_sim_ros.spec.resources import DUMPER, LOADER, named_files

COUNT = 1000
ODD = [None, True, -1, 0, 1e300, float('nan'), float('inf'), 10**30, '', 'x', 'nonsense: [', [],
       {}, [[]], {'a': 1}, {1: 2}, [1, 2, 3], {'above': 1, 'below': 0}, '1e-3', b'raw']


def places(content, path=()):
    """Yield the path to each value within a content."""
    yield path
    items = content.items() if isinstance(content, dict) else (
        enumerate(content) if isinstance(content, list) else ())
    for key, value in items:
        yield from places(value, (*path, key))


def parent_of(content, path):
    for key in path[:-1]:
        content = content[key]
    return content


def damaged(content, chance):
    """Return a copy in which one value is another one, is missing, or has another name."""
    path = chance.choice([path for path in places(content) if path])
    content = copy.deepcopy(content)
    parent, key, kind = parent_of(content, path), path[-1], chance.randrange(4)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[chance.choice(['x', str(key) + 'x', str(key)[:-1], 7, None])] = parent.pop(key)
    else:
        parent[key] = chance.choice(ODD)
    return content


def damaged_text(text, chance):
    """Return a text in which a piece is missing, doubled or something else."""
    start = chance.randrange(len(text))
    end = start + chance.randrange(20)
    return text[:start] + chance.choice(['', text[start:end] * 2, '\t', '{', '\x00', ': -']) + text[
        end:]


def refusal(file):
    """Return with what sentence a file is refused, '' if it is not, and what has to be in it."""
    try:
        configuration = load_configuration(None, {'': {'scenario': str(file)}})
    except ParameterError as error:
        return str(error), str(file)
    try:
        checked_scenario(configuration)
    except ParameterError as error:
        return str(error), f'scenario {file.stem}'
    return '', ''


@pytest.mark.slow       # calculates for seconds
def test_each_damaged_file_gets_one_sentence(tmp_path):
    chance, refused = random.Random(19), 0
    texts = [path.read_text(encoding='utf-8') for path in named_files('scenarios').values()]
    contents = [yaml.load(text, LOADER) for text in texts]
    file = tmp_path / 'scenario.yaml'
    for k in range(COUNT):
        if k % 4:
            content = contents[k % len(contents)]
            for _ in range(1 + k % 3):
                content = damaged(content, chance) if list(places(content))[1:] else content
            file.write_text(yaml.dump(content, Dumper=DUMPER), encoding='utf-8')
        else:
            file.write_text(damaged_text(texts[k % len(texts)], chance), encoding='utf-8')
        sentence, named = refusal(file)
        refused += bool(sentence)
        assert named in sentence and '\n' not in sentence
    assert refused > COUNT // 2       # what is left may be a scenario still
