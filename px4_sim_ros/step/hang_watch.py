# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Notices a block that does not come back from its step, from a thread beside the runner."""
from __future__ import annotations

import pathlib
import sys
import threading
import types
import typing

from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.step.lane import Lane
from px4_sim_ros.step.runner import Runner

_LOOK_S = 0.125
# Counted rather than timed, so that no block is blamed when the whole process was suspended.
_LOOKS = 4
_WAITS: set[types.CodeType] = set()
_Function = typing.TypeVar('_Function', bound=typing.Callable[..., typing.Any])


def waits(function: _Function) -> _Function:
    """Decorate a function of a step that waits for what is no part of it, within bounds."""
    _WAITS.add(function.__code__)
    return function


class HangWatch:
    """Looks at the runner of the thread that makes it, until it is closed."""

    def __init__(self, runner: Runner, report: typing.Callable[[str, bool, str], None]) -> None:
        """Begin.

        :param report: called, in another thread, with the name of a block, whether it hangs, and
            a sentence: once when it does, and once when it is back
        """
        self._runner, self._report = runner, report
        self._watched = threading.get_ident()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='hang watch', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        seen, looks = ('', 0), 0
        while not self._is_over.wait(_LOOK_S):
            frame = sys._current_frames()[self._watched]
            step = self._runner.under_way if _is_in_step(frame) else ('', 0)
            if step != seen and looks >= _LOOKS:
                sentence = f'{seen[0]} is back'
                self._report(seen[0], False, sentence)
            looks = looks + 1 if step == seen and step[0] else 0
            seen = step
            if looks == _LOOKS:
                block, time_us = step
                sentence = (f'{block} has been in its step at t = {seconds_text(time_us)} for'
                            f' {_LOOKS * _LOOK_S:g} s{_place(frame)}')
                self._report(block, True, sentence)


def _is_in_step(frame: types.FrameType | None) -> bool:
    """Return whether a block's step is being taken, and nothing is waited for."""
    while frame is not None and frame.f_code is not Lane._step.__code__:
        frame = None if frame.f_code in _WAITS else frame.f_back
    return frame is not None


def _place(frame: types.FrameType | None) -> str:
    """Return where code of the user stands, as the end of a sentence; '' if none does."""
    import sysconfig  # it takes a while, and few blocks hang
    # This package, Python and what is installed; `<` of what has no file.
    others = (str(pathlib.Path(__file__).parents[1]), *sysconfig.get_paths().values(), '<')
    while frame is not None and frame.f_code.co_filename.startswith(others):
        frame = frame.f_back if frame.f_code is not Lane._step.__code__ else None
    if frame is None:
        return ''
    code = frame.f_code
    return f': in {code.co_qualname}, {code.co_filename}:{frame.f_lineno}'
