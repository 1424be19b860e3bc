# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The tables of the documents, made from the code.

`PYTHONPATH=. python docs/make_tables.py` writes them into the documents of the current folder;
a test compares them, so that they cannot go stale.
"""
from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import pathlib
import re
import typing

from px4_sim_ros.campaign.plan import Settings
from px4_sim_ros.cli.command_line import GROUPS
from px4_sim_ros.launching.arguments import ARGUMENTS
from px4_sim_ros.model.faults.actions import ACTIONS, meaning
from px4_sim_ros.model.mission import ITEMS
from px4_sim_ros.model.parameters import range_text
from px4_sim_ros.model.scenario.condition import AGE, MODE, TEXT
from px4_sim_ros.model.scenario.situation import FLAGS, NUMBERS
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.px4.modes import MODES
from px4_sim_ros.spec.parameter_files import default_parameters
from px4_sim_ros.step import graph, side_topics
from px4_sim_ros.step.side_topics import VIEWED


def _table(head: typing.Sequence[str], rows: typing.Iterable[typing.Sequence[str]]) -> str:
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)


def topics() -> str:
    """Return the topics of the step: who publishes them, when, and what they carry."""
    periods = default_parameters('manager')
    rows = []
    optional = {kind for kind, spec in graph.NODES.items()
                if spec.optional and kind not in ('player', 'recorder')}
    for topic in graph.TOPICS.values():
        step = topic.period == graph.EVERY_STEP
        period = 'each step' if step else f"{periods[f'periods_us.{topic.period}'] // 1000} ms"
        publisher = f'{topic.publisher} *' if topic.publisher in optional else topic.publisher
        rows.append((f'`{topic.name}`', f'`{topic.type}`', topic.meaning, publisher, period))
    return _table(('topic', 'type', 'meaning', 'from', 'period'), rows)


def parameters() -> str:
    """Return all parameters with their defaults."""
    shared = WorldParameters.infos()
    rows = [_parameter('', key, value, shared)
            for key, value in default_parameters('manager').items()
            if key.partition('.')[0] in shared]
    for node, spec in graph.NODES.items():
        own = graph.load(spec.parameters).infos()
        rows += [_parameter(f'{node}.', key, value, own)
                 for key, value in default_parameters(node).items() if key in own]
    ditto = [(*row[:2], *('″' if cell and cell == upper else cell
                          for cell, upper in zip(row[2:], above[2:])))
             for above, row in itertools.pairwise([('',) * 4, *rows])]
    return _table(('parameter', 'default', 'meaning', 'allowed'), ditto)


def _parameter(
    node: str, key: str, value: typing.Any, infos: typing.Mapping[str, typing.Any],
) -> tuple[str, ...]:
    group, _, kind = key.partition('.')
    info = infos[group]
    allowed = _allowed(info)
    if group == 'instances':
        spec = graph.NODES[kind]
        allowed = f'{0 if spec.optional else 1} to {spec.instances}'
    return f'`{node}{key}`', f'`{value}`', info['description'], allowed


def _allowed(info: typing.Mapping[str, typing.Any]) -> str:
    """Return the allowed values, shorter than in the sentence that refuses one.

    Nothing where the default says it: of a text, of yes or no, and how many numbers there are.
    """
    text = re.sub(r'^(a text|true or false)$|^\d+ numbers, ', '', range_text(info))
    text = re.sub('at least (.+) and at most ', r'\1 to ', text)
    return text.replace('greater than ', '> ').replace('at least ', '≥ ').replace(
        'at most ', '≤ ').replace(' and ', ', ').removeprefix('one of ')


def commands() -> str:
    """Return the commands."""
    return _table(('to', 'command', 'what it does', 'example'), [
        ('' if i else group, f'`{name}`', command.purpose, f'`{command.example}`')
        for group, its in GROUPS.items() for i, (name, command) in enumerate(its.items())])


def launch_arguments() -> str:
    """Return the arguments of the launch files."""
    rows = [(f'`{name}`', f'`{a.default}`' if a.default else '', a.description)
            for name, a in ARGUMENTS.items()]
    return _table(('argument', 'default', 'meaning'), rows)


def topics_beside() -> str:
    """Return the topics beside the step."""
    return _table(('topic', 'type', 'meaning', 'latched', 'recorded'), [
        (f'`{t.name}`', f'`{t.type}`', t.meaning, 'yes' if t.latched else '',
         'yes' if t.name in side_topics.RECORDED else '')
        for t in side_topics.BESIDE.values()])


def view_topics() -> str:
    """Return the topics of the visualizer."""
    return _table(('topic', 'type', 'meaning'), [
        (f'`{t.name}`', f'`{t.type}`', t.meaning) for t in VIEWED.values()])


def actions() -> str:
    """Return the actions of scenarios."""
    return _table(('action', 'what it does', 'parameters'), [
        (f'`{name}`', meaning(action),
         '; '.join(_action_parameter(key, info, action.DEFAULTS)
                   for key, info in action.infos().items() if key not in action.INNER))
        for name, action in ACTIONS.items()])


# Described above the table, once.
_TARGETS = ('motor', 'servo', 'sensor', 'channel')


def _action_parameter(
    key: str, info: typing.Mapping[str, typing.Any], defaults: typing.Mapping[str, typing.Any],
) -> str:
    if key in _TARGETS:
        return f'`{key}`' + (f', `{defaults[key]}` by default' if defaults.get(key) else '')
    unit = f" ({info['unit']})" if info['unit'] else ''
    default = f', `{defaults[key]}` by default' if defaults.get(key, '') not in ('', ()) else ''
    return f"`{key}`{unit}: {info['description']}{default}"


def mission_items() -> str:
    """Return the items of mission files, with a row for each parameter."""
    rows = []
    for name, kind in ITEMS.items():
        rows.append((f'`{name}`', (kind.__doc__ or '').partition('\n')[0], ''))
        rows += [(f'&nbsp; `{key}`', info['description'], _allowed(info))
                 for key, info in kind.infos().items()]
    return _table(('item, parameter', 'meaning', 'allowed'), rows)


def campaign_settings() -> str:
    """Return the single values of campaign files."""
    return _table(('key', 'default', 'meaning', 'allowed'), [
        (f'`{name}`', f'`{getattr(Settings(), name)}`', info['description'], _allowed(info))
        for name, info in Settings.infos().items()])


def quantities() -> str:
    """Return the quantities of conditions."""
    rows = [(f'`{name}`', q.meaning + (f', {q.unit}' if q.unit else ''), '')
            for name, q in NUMBERS.items()]
    rows += [(f'`{name}`', meaning, '`true` or `false`') for name, (meaning, _) in FLAGS.items()]
    rows += [
        (f'`{AGE}`', 'time since an event has begun, s', '`event`, and `above`, `below`'),
        (f'`{MODE}`', 'the mode of the autopilot', ', '.join(f'`{mode}`' for mode in MODES)),
        (f'`{TEXT}`', 'the autopilot says just now a text that contains it', 'a text')]
    return _table(('quantity', 'what it is', 'asked for by'), rows)


_AXES = '.w', '.x', '.y', '.z'


def exported_columns() -> str:
    """Return the columns of the tables that `export` writes."""
    from px4_sim_ros.recording.analysis.export import columns_of
    from px4_sim_ros.recording.analysis.series import FIELDS
    rows = []
    for topic, fields in FIELDS.items():
        columns = []
        for field in fields:
            names = columns_of(field, 4 if field.endswith('_wxyz') else 3)
            parts = [name.removeprefix(field) for name in names]
            columns.append(f'`{field}.1`, ...' if parts[0] == '.1' else f'`{field}`'
                           if all(part in _AXES for part in parts) and parts[1:]
                           else ', '.join(f'`{name}`' for name in names))
        rows.append(f"| `{topic}` | {', '.join(columns)} |")
    return '\n'.join(['| topic | columns after `time_s` |', '| --- | --- |', *rows])


def licences() -> str:
    """Return the licences of what requirements.lock installs, by what each package says itself."""
    found: dict[str, list[str]] = {}
    locked = (pathlib.Path(__file__).parents[1] / 'requirements.lock').read_text(encoding='utf-8')
    for name, marker in re.findall(r'^([\w.-]+)==\S+( ; sys_platform)?', locked, re.M):
        if not marker:                                    # it is for another system
            found.setdefault(_licence(name), []).append(name)
    return _table(('licence', 'packages'), (
        (licence, ', '.join(_some_of_ros(found[licence]))) for licence in sorted(found)))


def _some_of_ros(names: typing.Sequence[str]) -> list[str]:
    ros = [name for name in names if name.startswith('ros-')]
    return [name for name in names if name not in ros] + (
        [f'{len(ros)} of ROS 2, `ros-...`'] if len(ros) > 3 else ros)


_SPDX = {'Apache License 2.0': 'Apache-2.0', 'Apache 2.0': 'Apache-2.0',
         'Apache License, Version 2.0': 'Apache-2.0', 'Apache License': 'Apache-2.0',
         'Apache Software License': 'Apache-2.0', 'BSD License': 'BSD', 'MIT License': 'MIT',
         'zlib License': 'Zlib', 'Mozilla Public License 2.0 (MPL 2.0)': 'MPL-2.0',
         'GNU Lesser General Public License v3 (LGPLv3)': 'LGPL-3.0'}


def _licence(name: str) -> str:
    """Return the licence of an installed package, under its name in SPDX where that is plain."""
    package = importlib.metadata.distribution(name)
    head, files = package.metadata, package.files or ()
    texts = {file.name: file.read_text() for file in files
             if file.name in ('package.xml', 'LICENSE')}
    ways = (
        head.get_all('License-Expression') or (),
        re.findall('<license>(.*?)</license>', texts.get('package.xml', '')),
        [text.rpartition(' :: ')[2] for text in head.get_all('Classifier') or ()
         if text.startswith('License')],
        head.get_all('License') or (), texts.get('LICENSE', '').strip().split('\n')[:1])
    said = next(list(filter(None, way)) for way in ways if any(way))
    return ' AND '.join(dict.fromkeys(_SPDX.get(text, text) for text in said))


def documents(root: pathlib.Path) -> list[pathlib.Path]:
    """Return all documents of a source tree."""
    return [root / 'README.md', *sorted((root / 'docs').glob('*.md'))]


PARTS: dict[str, typing.Callable[[], str]] = {
    'commands': commands, 'topics': topics, 'parameters': parameters,
    'launch arguments': launch_arguments,
    'exported columns': exported_columns,
    'topics beside': topics_beside, 'view topics': view_topics,
    'actions': actions, 'mission items': mission_items, 'quantities': quantities,
    'campaign': campaign_settings,
    'licences': licences}


def fill(text: str) -> str:
    """Return a text with each part put between its `<!-- name -->` and `<!-- end -->`."""
    def filled(match: re.Match[str]) -> str:
        part = PARTS.get(match[2])
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):    # none of make's
            return match[0] if part is None else f'{match[1]}{part()}\n{match[3]}'
        return match[0]

    return re.sub(r'(<!-- ([\w ]+) -->\n).*?(<!-- end -->)', filled, text, flags=re.S)


if __name__ == '__main__':
    for document in documents(pathlib.Path()):
        document.write_text(fill(document.read_text(encoding='utf-8')), encoding='utf-8')
