# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a page holds Plotly and the numbers of its figures in few bytes that are text.

Numbers of a line are levels between its least and its greatest one, as differences from one to the
next, byte by byte: so they are packed best. Packed bytes stand in the page seven bits a character.
"""
from __future__ import annotations

import base64
import gzip
import typing

import numpy as np

# Bytes of a level: a line that was thinned has 65,000 of them, more than a screen can show.
_BYTES_THINNED, _BYTES = 2, 3
_THINNED = 500                 # numbers, and more
# What ends a text in HTML or is changed in one, and what stands for it.
_STAND_INS = {0: '\xc0', 13: '\xc1', 60: '\xc2'}
_CHARACTERS = np.array([_STAND_INS.get(code, chr(code)) for code in range(128)])


def as_text(content: bytes) -> str:
    """Return bytes as a text, packed."""
    bits = np.unpackbits(np.frombuffer(gzip.compress(content, 9, mtime=0), np.uint8))
    sevens = np.pad(bits, (0, -len(bits) % 7)).reshape(-1, 7)
    return ''.join(_CHARACTERS[np.packbits(sevens, axis=1)[:, 0] >> 1].tolist())


class Numbers:
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
SCRIPT = """
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
