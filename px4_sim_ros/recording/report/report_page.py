# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An HTML page with figures: one file that loads nothing."""
from __future__ import annotations

import base64
import functools
import gzip
import html
import json
import re
import typing

import numpy as np

from px4_sim_ros.recording.analysis.lockstep_terms import SIMULATED_TIME
from px4_sim_ros.recording.analysis.series import Mark
from px4_sim_ros.recording.report.plots import Row, template, time_figure

if typing.TYPE_CHECKING:
    import plotly.graph_objects as go

# Plotly and the numbers of the figures in few bytes that are text. Numbers of a line are levels
# between its least and its greatest one, as differences from one to the next, byte by byte: so
# they are packed best. Packed bytes stand in the page seven bits a character.

# Bytes of a level: a line that was thinned has 65,000 of them, more than a screen can show.
_BYTES_THINNED, _BYTES = 2, 3
_THINNED = 500                 # numbers, and more
# What ends a text in HTML or is changed in one, and what stands for it.
_STAND_INS = {0: '\xc0', 13: '\xc1', 60: '\xc2'}
_CHARACTERS = np.array([_STAND_INS.get(code, chr(code)) for code in range(128)])


def _as_text(content: bytes) -> str:
    """Return bytes as a text, packed."""
    bits = np.unpackbits(np.frombuffer(gzip.compress(content, 9, mtime=0), np.uint8))
    sevens = np.pad(bits, (0, -len(bits) % 7)).reshape(-1, 7)
    return ''.join(_CHARACTERS[np.packbits(sevens, axis=1)[:, 0] >> 1].tolist())


class _Numbers:
    """Collects the numbers of figures."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def content(self) -> bytes:
        """All that were taken."""
        return b''.join(self._parts)

    def take(self, traces: typing.Iterable[dict[str, typing.Any]]) -> None:
        """Put numbers of 4 bytes in traces here, and in their place where they are."""
        for trace in traces:
            for axis in 'xyz':
                value = trace.get(axis)
                if isinstance(value, dict) and value['dtype'] == 'f4':
                    trace[axis] = self._place(
                        np.frombuffer(base64.b64decode(value['bdata']), '<f4').astype(float))

    def _place(self, values: np.ndarray) -> dict[str, typing.Any]:
        size = _BYTES if len(values) < _THINNED else _BYTES_THINNED
        known = np.isfinite(values)
        least, greatest = (values[known].min(), values[known].max()) if known.any() else (0.0, 0.0)
        none = 256 ** size - 1                     # where there is no number
        step = (greatest - least) / (none - 1) or 1.0
        levels = np.full(len(values), none, np.int64)
        levels[known] = np.rint((values[known] - least) / step)
        ways = np.diff(levels, prepend=0).astype('<i4').view(np.uint8).reshape(-1, 4)
        place = {'at': self._size, 'count': len(values), 'size': size, 'least': least, 'step': step}
        self._parts.append(ways[:, :size].T.tobytes())
        self._size += size * len(values)
        return place


# Unpacks both in a page.
_UNPACK = """
async function unpacked(id) {
  const place = document.getElementById(id), text = place.textContent;
  const stand_ins = {192: 0, 193: 13, 194: 60};
  const packed = new Uint8Array(Math.floor(text.length * 7 / 8));
  place.remove();
  for (let i = 0, at = 0, bits = 0, count = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    bits = bits << 7 | (code < 128 ? code : stand_ins[code]);
    count += 7;
    if (count >= 8) {
      count -= 8;
      packed[at++] = bits >> count;
      bits &= (1 << count) - 1;
    }
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream);
}
function numbers(bytes, {at, count, size, least, step}) {
  const values = new Float64Array(count), none = 256 ** size - 1;
  for (let i = 0, level = 0; i < count; i++) {
    for (let k = 0; k < size; k++)
      level += bytes[at + k * count + i] * 256 ** k;
    level %= none + 1;
    values[i] = level === none ? NaN : least + step * level;
  }
  return values;
}
function place(traces, bytes) {
  for (const trace of traces)
    for (const axis of ['x', 'y', 'z'])
      if (trace[axis] && 'least' in trace[axis]) trace[axis] = numbers(bytes, trace[axis]);
}
"""


_STYLE = """
:root { color-scheme: light dark; --ink: #1f262d; --soft: #66717c; --paper: #fbfbfa;
  --card: #fff; --grid: #e4e7ea; --warn: #fff4dc; --warn-ink: #6b4a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde1e5; --soft: #96a0aa; --paper: #15181b;
  --card: #1b1f23; --grid: #31373d; --warn: #3a2f16; --warn-ink: #f0cf8a; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 78rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { max-width: 60rem; margin: .4rem 0; }
.soft, figcaption, nav { color: var(--soft); font-size: 13px; }
nav { margin: .8rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; }
nav a { color: inherit; }
.warning { background: var(--warn); color: var(--warn-ink); padding: .6rem .9rem;
  border-radius: 6px; max-width: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr));
  gap: .7rem; margin: 1.1rem 0; }
.tile { background: var(--card); border: 1px solid var(--grid); border-radius: 8px;
  padding: .55rem .8rem; }
.tile b { display: block; font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 12.5px; }
.plot { background: var(--card); border: 1px solid var(--grid); border-radius: 8px;
  margin: .6rem 0; padding: .3rem; min-width: 0; overflow: hidden; box-sizing: content-box; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr));
  gap: 0 .8rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; min-width: 60%; }
th, td { text-align: left; vertical-align: top; padding: .22rem 1.2rem .22rem 0;
  border-bottom: 1px solid var(--grid); }
th { color: var(--soft); font-weight: 500; }
td { font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
td.number, th.number { text-align: right; white-space: nowrap; }
.dot { display: inline-block; width: .6rem; height: .6rem; border-radius: 50%;
  margin-right: .4rem; }
.key { display: none; color: var(--soft); font-size: 12.5px; }
.key b { font-weight: 500; }
.key span { white-space: nowrap; margin-right: .8rem; }
@media (max-width: 40rem) { .key { display: block; } table { width: max-content; }
  th, td { padding-right: .7rem; } td { max-width: 16rem; } }
details { margin: .5rem 0; }
summary { cursor: pointer; }
pre { background: var(--card); border: 1px solid var(--grid); border-radius: 8px;
  padding: .7rem; overflow-x: auto; font-size: 12px; line-height: 1.4; }
"""

# Unpacks Plotly and the figures, draws these in turn, follows the colour scheme of the
# system, and links the time axes of all plots over time. On a narrow screen a legend beside a plot
# would leave it no room: it stands below, as text.
_SCRIPT = """
const dark = matchMedia('(prefers-color-scheme: dark)');
const theme = () => THEMES[dark.matches ? 'dark' : 'light'];
const narrow = matchMedia('(max-width: 40rem)');
const all = [], timed = [], figures = new Map();
function layoutOf(figure) {
  const layout = structuredClone(figure.layout);
  layout.template = theme();
  if (narrow.matches) {
    const {r = 80, l = 80} = layout.margin || {};
    layout.margin = {...layout.margin, r: Math.min(r, 12), l: Math.min(l, 52)};
    layout.showlegend = false;
    for (const trace of figure.data)
      if (trace.legend) layout[trace.legend] = {...layout[trace.legend], visible: false};
  }
  return layout;
}
const plain = html => new DOMParser().parseFromString(html, 'text/html').body.textContent;
function key(figure, over_time) {
  const place = document.createElement('div'), rows = new Map();
  place.className = 'key';
  for (const trace of figure.data) {
    const name = trace.legend || 'legend', colour = (trace.line || {}).color;
    if (trace.showlegend === false || !trace.name) continue;
    const entry = document.createElement('span'), dot = document.createElement('i');
    dot.className = 'dot';
    dot.style.background = typeof colour === 'string' ? colour : (trace.marker || {}).color;
    entry.append(dot, plain(trace.name));
    if (!rows.has(name)) {
      const row = document.createElement('div'), title = document.createElement('b');
      // The titles of rows come first among the annotations.
      if (over_time) title.textContent = plain(figure.layout.annotations[rows.size].text) + ': ';
      row.append(title);
      rows.set(name, row);
    }
    rows.get(name).append(entry);
  }
  place.append(...rows.values());
  return place;
}
function follow(source) {
  const range = source.layout.xaxis.range;
  for (const div of timed) {
    const own = div.layout.xaxis.range;
    if (own[0] !== range[0] || own[1] !== range[1])
      Plotly.relayout(div, {'xaxis.range': [range[0], range[1]]});
  }
}
async function drawAll() {
  const script = document.createElement('script');
  script.textContent = await (await unpacked('plotly')).text();
  document.head.append(script);
  const shown = await (await unpacked('figures')).json();
  const bytes = new Uint8Array(await (await unpacked('numbers')).arrayBuffer());
  for (const [i, div] of document.querySelectorAll('.plot').entries()) {
    const figure = shown[i];
    place(figure.data, bytes);
    await Plotly.newPlot(div, figure.data, layoutOf(figure), {
      responsive: true, displaylogo: false, displayModeBar: narrow.matches ? false : 'hover',
      doubleClick: 'reset',
      modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d']});
    if (figure.layout.showlegend !== false) div.after(key(figure, 'time' in div.dataset));
    figures.set(div, figure);
    all.push(div);
    if ('time' in div.dataset) {
      timed.push(div);
      div.on('plotly_relayout', () => follow(div));
    }
  }
  document.body.dataset.drawn = all.length;
}
for (const query of [dark, narrow])
  query.addEventListener('change', () => {
    for (const div of all) Plotly.react(div, figures.get(div).data, layoutOf(figures.get(div)));
  });
if (document.getElementById('figures')) drawAll();
"""

# The browser enforces that nothing else is loaded.
_POLICY = ("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
           ' img-src data: blob:')


# What `figure` writes: a text in it has no < and no >, so that none can end it.
_DATA = '<script type="application/json">'
_FIGURE = re.compile(f'{_DATA}([^<]*)</script>')


class Section(typing.NamedTuple):
    """A part of the page with its own heading."""

    anchor: str
    title: str
    content: str               # HTML


def text(value: object) -> str:
    """Return a text escaped for HTML."""
    return html.escape(str(value))


def heading(title: str) -> str:
    """Return a heading within a section."""
    return f'<h3>{text(title)}</h3>'


def paragraph(sentence: str, style: str = 'soft') -> str:
    return f'<p class="{style}">{text(sentence)}</p>'


NOTHING_TO_PLOT = paragraph('There is nothing to plot.')


def table(
    head: typing.Sequence[str], rows: typing.Iterable[typing.Sequence[object]],
    numbers_from: int = 99, numbers_to: int = 99,
) -> str:
    def cells(kind: str, values: typing.Iterable[object]) -> str:
        return ''.join(
            f'<{kind} class="number">{_cell(v)}</{kind}>' if numbers_from <= i < numbers_to
            else f'<{kind}>{_cell(v)}</{kind}>' for i, v in enumerate(values))

    top = f'<thead><tr>{cells("th", head)}</tr></thead>' if head else ''
    body = ''.join(f'<tr>{cells("td", row)}</tr>' for row in rows)
    return f'<div class="table"><table>{top}<tbody>{body}</tbody></table></div>'


class Html(str):
    """A text that is HTML already."""


def _cell(value: object) -> str:
    return value if isinstance(value, Html) else text(value)


def dot(colour: str, label: str) -> Html:
    return Html(f'<span class="dot" style="background:{colour}"></span>{text(label)}')


def tiles(facts: typing.Iterable[tuple[str, object]]) -> str:
    """Return the most important numbers, large."""
    return '<div class="tiles">' + ''.join(
        f'<div class="tile"><b>{_cell(value)}</b><span>{text(name)}</span></div>'
        for name, value in facts) + '</div>'


def figure(plot: go.Figure, over_time: bool = False) -> str:
    """Return a place for a figure, with its data."""
    mark = ' data-time' if over_time else ''
    return (f'<div class="plot"{mark} style="min-height:{plot.layout.height}px"></div>'
            f'{_DATA}{plot.to_json()}</script>')


def time_plot(
    rows: typing.Iterable[Row], marks: typing.Sequence[Mark], span_s: tuple[float, float],
    points: int, time: str = SIMULATED_TIME,
) -> str:
    """Return a place for rows over time, of those that have something to plot; '' for none."""
    shown = [row for row in rows if any(np.isfinite(line.values).any() for line in row.lines)]
    return figure(
        time_figure(shown, marks, span_s, points, time), over_time=True) if shown else ''


def folded(title: str, content: str) -> str:
    """Return content that is folded until it is opened."""
    return f'<details><summary>{text(title)}</summary>{content}</details>'


def _packed(name: str, content: bytes) -> str:
    """Return a part of the page that its script unpacks."""
    return f'<script type="text/plain" id="{name}">{_as_text(content)}</script>'


@functools.cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs
    return _packed('plotly', get_plotlyjs().encode())


def page(title: str, head: str, sections: typing.Sequence[Section]) -> str:
    links = ''.join(f'<a href="#{s.anchor}">{text(s.title)}</a>' for s in sections)
    body = ''.join(
        f'<section id="{s.anchor}"><h2>{text(s.title)}</h2>{s.content}</section>'
        for s in sections)
    figures = [json.loads(its) for its in _FIGURE.findall(body)]
    body = _FIGURE.sub('', body)
    numbers = _Numbers()
    for its in figures:
        numbers.take(its['data'])
    # Together they are packed best; a page without any does without Plotly.
    data = (_plotly() + _packed('figures', json.dumps(figures).encode())
            + _packed('numbers', numbers.content)) if figures else ''
    themes = json.dumps({'light': template(dark=False), 'dark': template(dark=True)})
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{text(title)}</title>
<style>{_STYLE}</style>
{data}
</head>
<body>
<h1>{text(title)}</h1>
{head}
<nav>{links}</nav>
{body}
<script>const THEMES = {themes};{_UNPACK}{_SCRIPT}</script>
</body>
</html>
"""
