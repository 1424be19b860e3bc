# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What docs/campaigns.md shows is what the code takes, and what it leaves."""
import argparse
import concurrent.futures
import pathlib
import re
import shlex
import sys
import types

import pytest
import yaml

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'campaign'))
from campaigns import campaign, row_of

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign import slots
from px4_sim_ros.campaign.conduct import check
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.cli import campaign as command
from px4_sim_ros.spec.resources import named_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'campaigns.md').read_text(encoding='utf-8')
FILE, = re.findall(r'```yaml\n(.*?)```', PAGE, re.S)
WORDS = [shlex.split(line)[4:] for block in re.findall(r'```sh\n(.*?)```', PAGE, re.S)
         for line in block.splitlines() if 'px4_sim_ros campaign ' in line]


def test_the_file_of_the_page_can_be_flown():
    found = Campaign.from_mapping('page', 'campaign file page.yaml', yaml.safe_load(FILE))
    check(found, None)
    assert len({repr(found.run(n).inputs) for n in range(1, 65)}) == 64


def test_all_distributions_are_named():
    told = set(re.findall(r'^\| `(\w+): \[', PAGE, re.M))
    from px4_sim_ros.campaign.inputs import _KINDS
    assert told == set(_KINDS)


@pytest.mark.parametrize('words', WORDS, ids=[' '.join(words) for words in WORDS])
def test_the_commands_are_known(words):
    """Their options, and the campaigns that they name."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    options = parser.parse_args(words)
    name = options.words[0]
    if name in ('refly', 'compare', 'report'):
        assert name in command._ACTIONS
        return
    assert name in named_files('campaigns')


def test_the_executor_of_the_page_flies(tmp_path, monkeypatch):
    """Without Ray, and without flying: it asks of both what they have."""
    code, = (block for block in re.findall(r'```python\n(.*?)```', PAGE, re.S) if 'ray' in block)
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        def remote(num_cpus):
            return lambda fn: types.SimpleNamespace(remote=lambda *arguments: types.SimpleNamespace(
                future=lambda: executor.submit(fn, *arguments)))
        monkeypatch.setitem(sys.modules, 'ray', types.SimpleNamespace(
            init=lambda: None, cluster_resources=lambda: {'CPU': 2.0}, remote=remote))
        monkeypatch.setattr(slots, 'fly', row_of)
        monkeypatch.chdir(tmp_path)
        exec(compile(code, 'docs/campaigns.md', 'exec'), {})
    assert len(Folder.read('campaigns/wind_ray').rows()) == 128
    assert (tmp_path / 'campaigns' / 'wind_ray' / 'runs.csv').exists()


def test_the_folder_has_what_the_page_says(tmp_path):
    pytest.importorskip('pyarrow')
    from px4_sim_ros.campaign.campaign_report import write_report
    folder = Folder.make(tmp_path / 'c', campaign(), None)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        conducting.conduct(folder, executor, row_of, 1, lambda progress: None)
    conducting.write_tables(folder)
    write_report(folder)
    section = PAGE[PAGE.index('## What it leaves'):PAGE.index('## Comparing')]
    told = {name for cell in re.findall(r'^\| (`.+?) \|', section, re.M)
            for name in re.findall(r'`(.+?)`', cell)}
    left = {path.name for path in (tmp_path / 'c').iterdir()}
    assert left | {'recordings'} == told
