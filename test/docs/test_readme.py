# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the documents say is true: their tables are those of the code, their commands exist."""
import argparse
import fnmatch
import pathlib
import re
import shlex
import subprocess
import tomllib

import pytest

from docs import make_tables as tables
from px4_sim_ros.cli import command_line, fly
from px4_sim_ros.launching.arguments import ARGUMENTS, FLEET_ARGUMENTS
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.spec.configuration import load_configuration, profile_parameters
from px4_sim_ros.spec.files import load_mission
from px4_sim_ros.spec.settings import settings
from px4_sim_ros.step import side_topics

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding='utf-8')
             for path in (*tables.documents(ROOT), ROOT / 'CONTRIBUTING.md',
                          ROOT / 'examples' / 'README.md')}
TEXT = '\n'.join(DOCUMENTS.values())


def commands(first_word):
    """Return the commands in all documents that begin with a word, without what they set before."""
    blocks = re.findall(r'```sh\n(.*?)```', TEXT.replace('\\\n', ''), re.S)
    lines = [re.sub(r'^(?:[A-Z0-9_]+=\S+ )+', '', part.split('#')[0].strip())
             for block in blocks for line in block.splitlines() for part in line.split('&&')]
    return [shlex.split(line) for line in lines if line.startswith(first_word)]


@pytest.mark.parametrize('name', DOCUMENTS)
def test_the_tables_are_those_of_the_code(name):
    assert tables.fill(DOCUMENTS[name]) == DOCUMENTS[name]


def test_each_topic_beside_the_step_is_in_a_table():
    all_of_them = [value for value in vars(side_topics).values()
                   if isinstance(value, side_topics.SideTopic)]
    tables_of = [tables.topics_beside(), tables.view_topics()]
    for topic in all_of_them:
        assert sum(f'| `{topic.name}` |' in table for table in tables_of) == 1, topic.name


def test_the_contract_of_recordings_is_that_of_its_version():
    """Who changes a topic, a type or a meaning raises schema.VERSION and adds a row."""
    rows = dict(re.findall(r'^\| (\d+) \| `([0-9a-f]{16})` \|', DOCUMENTS['docs/recording.md'],
                           re.M))
    assert rows[str(schema.VERSION)] == schema.fingerprint()
    assert len(set(rows.values())) == len(rows) == schema.VERSION


WRITTEN = sorted({name for found in re.findall(
    r'(?:--(?:record|json|plot|report|page|viewer|summary|out)|-o) ([\w-][\w/.-]*)'
    r'|[Ss]aved? (?:it|this)? ?as\s`([\w.-]+)`|cp examples/\S+ examples/(\S+) \.', TEXT)
    for name in found if re.search('[./]', name)} | {
        f'{name}/' for name in re.findall(r'-m venv (\w+)', TEXT)})


@pytest.mark.parametrize('name', WRITTEN)
def test_git_ignores_what_the_commands_leave(name):
    patterns = [line for line in (ROOT / '.gitignore').read_text(encoding='utf-8').splitlines()
                if line and not line.startswith('#')]
    assert any(name.startswith(pattern.lstrip('/')) if pattern.endswith('/')
               else fnmatch.fnmatch(name, pattern.removeprefix('/')) for pattern in patterns)


def test_the_linter_takes_no_folder_that_commands_leave_for_a_package():
    """It would want imports of tests in another order as soon as somebody has flown a campaign."""
    folders = {line.strip('/') for line in (ROOT / '.gitignore').read_text().splitlines()
               if line.endswith('/')}
    modules = {path.stem for path in (ROOT / 'test').rglob('*.py')}
    settings = tomllib.loads((ROOT / 'pyproject.toml').read_text())
    known = settings['tool']['ruff']['lint']['isort']['known-third-party']
    assert 'campaigns' in folders & modules
    assert folders & modules <= set(known)


@pytest.mark.process
@pytest.mark.parametrize('words', commands('make'), ids=' '.join)
def test_make_targets_exist(words):
    targets = [w for w in words[1:] if '=' not in w]
    result = subprocess.run(
        ['make', '--dry-run', *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    'words', [shlex.split(w[2].removeprefix('ARGS=')) for w in commands('make fly ARGS')],
    ids=' '.join)
def test_options_of_fly_exist(words, monkeypatch):
    seen = []
    monkeypatch.setattr(fly, 'fly', lambda options: seen.append(options) or 0)
    assert command_line.main(['fly', *words]) == 0
    assert isinstance(seen[0], argparse.Namespace)


OURS = [w[3:] for w in commands('python -m px4_sim_ros')]
FLIGHTS = [words for words in OURS if words[0] == 'fly']
OF_MODULES = [words for words in OURS if words[0] in (
    'replay', 'refly', 'compare', 'report', 'view', 'visualizer', 'list', 'campaign', 'export',
    'validate', 'identify')]


@pytest.mark.parametrize('words', FLIGHTS, ids=' '.join)
def test_what_flights_set_is_allowed(words, monkeypatch):
    seen = []
    monkeypatch.setattr(fly, 'fly', lambda options: seen.append(options) or 0)
    assert command_line.main(words) == 0
    options, = seen
    load_mission(options.mission or 'square')
    found = settings(options)
    found[''] |= {'recorder': options.record is not None}
    load_configuration(None, found, base=profile_parameters(options.profile))


def test_check_vehicle(monkeypatch, capsys):
    words, = [words for words in OURS if words[0] == 'check-vehicle']
    monkeypatch.chdir(ROOT)
    assert command_line.main(words) == 0
    assert 'hover' in capsys.readouterr().out


@pytest.mark.parametrize(
    'words', [w for w in OURS if w not in FLIGHTS + OF_MODULES and w[0] != 'check-vehicle'],
    ids=' '.join)
def test_commands_exist(words, monkeypatch):
    seen = []
    monkeypatch.setattr(command_line.control, 'run', lambda options: seen.append(options) or 0)
    assert command_line.main(words) == 0
    assert seen[0].command == words[0]


@pytest.mark.parametrize('words', OF_MODULES, ids=' '.join)
def test_commands_of_modules_exist(words, monkeypatch):
    seen = []
    name = words[0].replace('-', '_')
    monkeypatch.setattr(f'px4_sim_ros.cli.{name}.{name}',
                        lambda options: seen.append(options) or 0)
    assert command_line.main(words) == 0
    assert seen[0].command == words[0]


def test_launch_arguments_exist():
    launches = [words for words in commands('ros2') if words[1] == 'launch']
    assert len(launches) >= 3
    declared = {'iris.launch.py': ARGUMENTS, 'fleet.launch.py': FLEET_ARGUMENTS}
    for words in launches:
        assert (ROOT / 'launch' / words[3]).is_file()
        for word in words[4:]:
            assert word == '--show-args' or word.partition(':=')[0] in declared[words[3]]


def test_files_that_are_named_exist():
    for name in re.findall(
            r'`((?:px4_sim_ros|config|docs|examples|launch|test)/[\w./]+)`', TEXT):
        assert (ROOT / name).exists(), name


def anchors(path):
    """Return what the headings of a document are called in links, as GitHub makes them."""
    text = re.sub(r'```.*?```', '', path.read_text(encoding='utf-8'), flags=re.S)
    return {re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-')
            for heading in re.findall(r'^#+ (.*)$', text, re.M)}


@pytest.mark.parametrize('name', DOCUMENTS)
def test_links_lead_somewhere(name):
    folder = (ROOT / name).parent
    for link in re.findall(r'\]\(([^)\s]+)\)', DOCUMENTS[name]):
        if '://' in link:
            continue
        file, _, anchor = link.partition('#')
        target = folder / file if file else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_each_page_is_on_the_map():
    mapped = set(re.findall(r'\]\((docs/[\w]+\.md)\)', DOCUMENTS['README.md']))
    assert mapped == {name for name in DOCUMENTS if name.startswith('docs/')}


def test_the_readme_is_short():
    assert len(DOCUMENTS['README.md'].splitlines()) <= 110


def test_nothing_is_left_to_fill_in():
    assert not re.search(r'^[A-Z]{4,}$', TEXT, re.M)


def test_viewers_can_be_asked_for_in_all_launch_files():
    """What the launch files share reads arguments that both have to declare."""
    text = '\n'.join((ROOT / 'px4_sim_ros' / 'launching' / name).read_text(encoding='utf-8')
                     for name in ('actions.py', 'viewers.py'))
    for function, declared in (('options_of', ARGUMENTS), ('_world', ARGUMENTS),
                               ('viewers', ARGUMENTS)):
        body = re.search(rf'^def {function}\(.*?(?=^def |\Z)', text, re.M | re.S)[0]
        read = set(re.findall(r"given\['(\w+)'\]", body))
        assert read and read <= set(declared), function


def test_the_changelog_is_read_by_release_tools():
    """As REP 132 has it: Forthcoming or a version with its date, and bullets below it."""
    text = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    sections = re.findall(r'^([^\n]+)\n-+\n(.*?)(?=^[^\n]+\n-+\n|\Z)', text, re.M | re.S)
    version = re.search('<version>(.+)</version>', (ROOT / 'package.xml').read_text())[1]
    titles = [title for title, _ in sections]
    assert titles[0] == 'Forthcoming'
    assert all(re.fullmatch(r'\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)', t) for t in titles[1:])
    assert titles[1].startswith(f'{version} (')
    for _, content in sections:
        lines = content.strip().splitlines()
        assert len(lines) <= 60
        assert all(line.startswith(('* ', '  ')) for line in lines)
