# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""All checks on one page: `python -m verification.report`, or `make verify`."""
from __future__ import annotations

import argparse
import html
import itertools
import pathlib
import platform
import sys
import typing
from xml.etree import ElementTree

import numpy
import scipy
from tqdm import tqdm

from verification.checks import Check, Outcome, all_checks, outcome
from verification.figures import svg

ROOT = pathlib.Path(__file__).resolve().parents[2]

STYLE = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5b6570; --paper: #fff; --grid: #e3e6e9;
  --good: #1a7f42; --bad: #c0262d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e2e5e8; --soft: #9aa4ae; --paper: #15181b;
  --grid: #343a40; --good: #57c785; --bad: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; }
.soft { color: var(--soft); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; }
td { border-top: 1px solid var(--grid); }
tbody th { padding-top: 1.2rem; font-size: 15px; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.pass { color: var(--good); font-weight: 600; }
.fail { color: var(--bad); font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; }
figcaption { font-size: 13px; color: var(--soft); }
svg { width: 100%; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
"""


def number(value: float) -> str:
    """Return a number with three digits."""
    return f'{value:.3g}'


def deviation(result: Outcome) -> str:
    """Return how far a check is off, or why that is not known."""
    return number(result.result.deviation) if result.result else result.error


def summary(outcomes: typing.Sequence[Outcome]) -> str:
    """Return in a sentence what came of all checks."""
    failed = [o.check.name for o in outcomes if not o.passed]
    if not failed:
        return f'{len(outcomes)} checks, all passed'
    return f"{len(outcomes)} checks, {len(failed)} failed: {', '.join(failed)}"


def _rows(outcomes: typing.Iterable[Outcome]) -> typing.Iterator[str]:
    for group, members in itertools.groupby(outcomes, lambda o: o.check.group):
        yield f'<tbody><tr><th colspan="6">{html.escape(group)}</th></tr>'
        for o in members:
            check, word = o.check, 'pass' if o.passed else 'fail'
            yield '<tr>' + ''.join(f'<td>{html.escape(t)}</td>' for t in (
                check.name, check.model, check.reference))
            yield f'<td class="number">{html.escape(deviation(o))}</td>'
            yield f'<td class="number">{number(check.tolerance)} {html.escape(check.unit)}</td>'
            yield f'<td class="{word}">{word}</td></tr>'
        yield '</tbody>'


def _figures(outcomes: typing.Iterable[Outcome]) -> typing.Iterator[str]:
    """Yield the plots by group; one that several checks share stands there once."""
    count = 0
    for group, members in itertools.groupby(outcomes, lambda o: o.check.group):
        shared: dict[int, tuple[typing.Any, list[str]]] = {}
        for o in members:
            if o.result and o.result.plot:
                plot = o.result.plot
                shared.setdefault(id(plot), (plot, []))[1].append(o.check.name)
        if not shared:
            continue
        yield f'<h3>{html.escape(group)}</h3><div class="plots">'
        for plot, names in shared.values():
            count += 1
            caption = html.escape('; '.join(names))
            yield f'<figure>{svg(plot, count)}<figcaption>{caption}</figcaption></figure>'
        yield '</div>'


def page(outcomes: typing.Sequence[Outcome]) -> str:
    """Return the report as HTML that needs no other file."""
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    state = 'pass' if all(o.passed for o in outcomes) else 'fail'
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>px4_sim_ros: verification</title>
<style>{STYLE}</style>
</head>
<body>
<h1>px4_sim_ros: verification</h1>
<p>Each model against a closed form, a published table or an independent library; none against
numbers that this package has made. The deviation is the largest one that the check meets; a check
passes when it is within the tolerance.</p>
<p class="soft">px4_sim_ros {html.escape(str(version))}, Python {platform.python_version()},
NumPy {numpy.__version__}, SciPy {scipy.__version__}; written by <code>make verify</code></p>
<p class="{state}">{html.escape(summary(outcomes))}</p>
<div class="table"><table>
<thead><tr><th>check</th><th>model</th><th>reference</th><th>deviation</th><th>tolerance</th><th></th>
</tr></thead>
{''.join(_rows(outcomes))}
</table></div>
<h2>Plots</h2>
{''.join(_figures(outcomes))}
</body>
</html>
"""


def main(
    arguments: typing.Sequence[str] | None = None, checks: typing.Sequence[Check] | None = None,
) -> int:
    """Run the checks, write the page, and return the exit code: 1 if any has failed."""
    parser = argparse.ArgumentParser(prog='verification.report', description=__doc__)
    parser.add_argument(
        '-o', '--output', type=pathlib.Path, default=pathlib.Path('verification.html'),
        help='file to write (default: %(default)s)')
    path = parser.parse_args(arguments).output
    outcomes = []
    for check in tqdm(all_checks() if checks is None else checks, unit='check', leave=False):
        result = outcome(check)
        outcomes.append(result)
        tqdm.write(
            f"{'pass' if result.passed else 'FAIL'}  {check.name}: {deviation(result)}"
            f' (tolerance {number(check.tolerance)} {check.unit})')
    path.write_text(page(outcomes), encoding='utf-8')
    print(f'{summary(outcomes)}; see {path}')
    return 0 if all(o.passed for o in outcomes) else 1


if __name__ == '__main__':
    sys.exit(main())
