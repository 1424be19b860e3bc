# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Errors whose text is a sentence for the user."""
from __future__ import annotations

import difflib
import importlib.util
import typing


class ParameterError(ValueError):
    """A parameter is missing, unknown, of the wrong type or out of range."""


class RunError(RuntimeError):
    """A run cannot go on; the text says why, for the user."""


class DivergedError(RunError):
    """The motion has left all bounds: the step is too long, or a value is far off."""


def check_installed(package: str) -> None:
    """Check that a Python package is there that no ROS package and no rosdep key stands for.

    :raises ParameterError: it is not, and how to install it
    """
    if importlib.util.find_spec(package) is None:
        raise ParameterError(
            f'the Python package {package} is not installed; `pip install {package}` installs it')


def did_you_mean(word: str, known: typing.Iterable[str]) -> str:
    """Return the end of a sentence about a misspelt word: the nearest one, '' for none."""
    close = difflib.get_close_matches(word, known, n=1)
    return f'; did you mean {close[0]}' if close else ''


def nearest_valid(values: typing.Sequence[int]) -> str:
    """Return the end of a sentence, such as `the nearest valid values are 2 and 4`."""
    return (f"the nearest valid {'values are' if len(values) > 1 else 'value is'}"
            f" {' and '.join(map(str, values))}")


def sentence(error: Exception) -> str:
    """Return the sentence of an error for the user; an OSError's is without its number."""
    return getattr(error, 'strerror', None) or str(error)
