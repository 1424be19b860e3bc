# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes flights of pytest, from its JUnit file, as the summary of a job of a workflow."""
from __future__ import annotations

import pathlib
import sys
import xml.etree.ElementTree as ElementTree

_ICONS = {'failure': '❌ failed', 'error': '❌ error', 'skipped': '⏭️ skipped'}


def summary(junit: str) -> str:
    """Return a table of all flights, and what each that failed has said."""
    rows, failed = [], []
    for case in ElementTree.fromstring(junit).iter('testcase'):
        outcome = next((child for child in case if child.tag in _ICONS), None)
        properties = {p.get('name'): p.get('value') for p in case.iter('property')}
        result = '✅ passed' if outcome is None else _ICONS[outcome.tag]
        name = f"{case.get('classname')}::{case.get('name')}"
        rows.append(f"| {name} | {result} | {float(case.get('time', 0)):.1f} s"
                    f" | {properties.get('fingerprint', '')} |")
        if outcome is not None and outcome.tag != 'skipped':
            said = ''.join(case.itertext()).strip() or outcome.get('message', '')
            failed.append(f"<details><summary>{name}</summary>\n\n```text\n{said}\n```\n"
                          '</details>')
    head = [f"| {' | '.join(('flight', 'result', 'time', 'fingerprint'))} |",
            '| --- | --- | --- | --- |']
    where = ['The artefact `flights` has their recordings, and in `again.txt` how to fly them.']
    return '\n'.join([*head, *rows, '', *failed, *(where if failed else []), ''])


if __name__ == '__main__':
    path = pathlib.Path(sys.argv[1])
    print(summary(path.read_text('utf-8')) if path.is_file() else 'No flight was flown.')
