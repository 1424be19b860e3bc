# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Errors whose text is a sentence for the user."""
from __future__ import annotations

import contextlib
import difflib
import importlib.util
import re
import typing

# From here on a word, of 0 to 1, may be a name that is misspelt, or the beginning of one.
_ALIKE, _BEGINS = 0.6, 0.85
_LONGEST = 100         # of a value in a sentence
_LONG_WORD = re.compile(r'\S{200,}')         # a path may be long
_LONGEST_SENTENCE = 2000
_BEGUN = 0.92          # a whole name is nearer than a beginning
# C0, DEL and C1, which a terminal obeys, and what turns the direction of a line.
_CONTROLS = {code: f'\\x{code:02x}' for code in (*range(32), *range(127, 160))} | {
    code: f'\\u{code:04x}' for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
for _kept in '\n\t\r':
    del _CONTROLS[ord(_kept)]


class ParameterError(ValueError):
    """A parameter is missing, unknown, of the wrong type or out of range."""

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))


def one_line(text: str) -> str:
    """Return a sentence as one line; what it quotes is cut if it is long."""
    short = _LONG_WORD.sub(
        lambda word: f'{word[0][:_LONGEST]}...{word[0][-1]}', text.replace('\n', ' '))
    half = _LONGEST_SENTENCE // 2
    return short if len(short) <= _LONGEST_SENTENCE else f'{short[:half]} ... {short[-half:]}'


@contextlib.contextmanager
def within(place: str) -> typing.Iterator[None]:
    """Name a place before what is wrong in it."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f'{place}: {error}') from error


class RunError(RuntimeError):
    """A run cannot continue; the text says why, for the user."""


class InputWarning(UserWarning):
    """An input is used in part only; the text says how far, for the user."""


class DivergedError(RunError):
    """The motion has left all bounds: the step is too long, or a value is far off."""


def shown(value: object) -> str:
    """Return a value as a sentence shows it, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]} ...'


def printable(text: str) -> str:
    """Return a text in which control characters, which a terminal obeys, are escaped."""
    return text.translate(_CONTROLS)


def check_installed(package: str) -> None:
    """Check that a Python package is there that no ROS package and no rosdep key stands for.

    :raises ParameterError: it is not, and how to install it
    """
    if importlib.util.find_spec(package) is None:
        raise ParameterError(
            f'the Python package {package} is not installed; `pip install {package}` installs it')


def nearest(word: str, known: typing.Iterable[str], most: int = 1) -> list[str]:
    """Return the names that a misspelt word may mean, the nearest first; there may be none.

    One is near as a whole or by its beginning; only where none is, one whose parts are there.
    """
    names = list(known)
    scores = {name: max(_ratio(word, name), _likeness_of_beginning(word, name)) for name in names}
    if '_' in word and not any(score >= _ALIKE for score in scores.values()):
        scores = {name: _likeness_of_parts(word, name) for name in names}
    close = [name for name in names if scores[name] >= _ALIKE]
    return sorted(close, key=lambda name: -scores[name])[:most]


def _likeness_of_beginning(word: str, name: str) -> float:
    likeness = _ratio(word, name[:len(word)])
    return _BEGUN * likeness if likeness >= _BEGINS else 0.0


def _likeness_of_parts(word: str, name: str) -> float:
    parts = [max(_ratio(part, its) for its in name.split('_')) for part in word.split('_')]
    return sum(parts) / len(parts)


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, other, one).ratio()


def did_you_mean(word: str, known: typing.Iterable[str]) -> str:
    """Return the end of a sentence about a misspelt word: the nearest one, '' for none."""
    close = nearest(word, known)
    return f'; did you mean {close[0]}' if close else ''


def nearest_valid(values: typing.Sequence[int]) -> str:
    """Return the end of a sentence, such as `the nearest valid values are 2 and 4`."""
    return (f"the nearest valid {'values are' if len(values) > 1 else 'value is'}"
            f" {' and '.join(map(str, values))}")


def why_not_imported(error: Exception) -> str:
    """Return why code of the user cannot be imported; an error within it has its type."""
    if isinstance(error, ImportError | OSError):
        return sentence(error)
    return f'{type(error).__name__}: {error}'


def sentence(error: Exception) -> str:
    """Return the sentence of an error for the user; an OSError's is without its number.

    Of a folder that could not be copied it is that of its first file.
    """
    if isinstance(error, OSError) and error.args and isinstance(error.args[0], list):
        return re.sub(r"^\[Errno \d+\] |: '.*$", '', str(error.args[0][0][-1]))
    return getattr(error, 'strerror', None) or str(error)
