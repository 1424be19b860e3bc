"""Errors whose text is a sentence for the user."""
from __future__ import annotations


class ParameterError(ValueError):
    """A parameter is missing, unknown, of the wrong type or out of range."""


class RunError(RuntimeError):
    """A run cannot go on; the text says why, for the user."""


class DivergedError(RunError):
    """The motion has left all bounds: the step is too long, or a value is far off."""


def sentence(error: Exception) -> str:
    """Return the sentence of an error for the user; an OSError's is without its number."""
    return getattr(error, 'strerror', None) or str(error)
