# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The signals that ask for the end, alike in all processes: the first does, none disturbs it."""
from __future__ import annotations

import _thread
import atexit
import contextlib
import functools
import os
import signal
import sys
import threading
import time
import types
import typing

from px4_sim_ros.model.errors import RunError
from px4_sim_ros.process.signal_mask import ENDING

if typing.TYPE_CHECKING:
    import asyncio

# `nohup` lets a process ignore the end of its terminal: that stays so.
_SIGNALS = tuple(number for number in ENDING
                 if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN)

# After an interrupt that was lost: C runs on meanwhile, and may have called us for the last time.
_AGAIN_S = 0.01
_LONGEST_S = 1.0
_comes_again = threading.Event()
_held: list[Interrupted] = []


class Interrupted(KeyboardInterrupt):
    """One of them has come, whose number is its argument; it reports its own loss on the way."""

    def __init__(
        self, number: int, on_lost: typing.Callable[[int], object] | None = None,
    ) -> None:
        super().__init__(number)
        self._on_lost = on_lost

    def arrive(self) -> None:
        """Be no longer on the way: it may go."""
        self._on_lost = None

    def __del__(self) -> None:
        if self._on_lost is not None:
            self._on_lost(*self.args)


def ignore() -> None:
    """Let nothing disturb the end of the process, which is under way."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def raise_interrupt() -> None:
    """Let the first of them raise Interrupted, and ignore those after it.

    One that does not come to an `unwrapped` is lost, and comes again a little later. Python passes
    on nothing from a destructor or a function that C calls, C may drop what a look-up raises, and a
    library may take an import that was interrupted for one that is not there.
    """
    has_come = False

    def interrupt(number: int, frame: types.FrameType | None) -> None:
        nonlocal has_come
        if not has_come:
            has_come = True
            _comes_again.clear()
            raise Interrupted(number, come_again)      # with no name: a cycle would keep it

    def come_again(number: int) -> None:
        nonlocal has_come
        has_come = False
        _comes_again.set()
        # A Thread waits until it has begun, and may be interrupted as it does.
        _thread.start_new_thread(_kill_soon, (number,))

    def note(what: sys.UnraisableHookArgs) -> None:
        if not has_come:       # what is made by half complains as it goes
            sys.__unraisablehook__(what)

    _handle(interrupt)
    sys.unraisablehook = note


def _kill_soon(number: int) -> None:
    time.sleep(_AGAIN_S)
    os.kill(os.getpid(), number)


@contextlib.contextmanager
def unwrapped() -> typing.Iterator[None]:
    """Let an Interrupted arrive; raise it as it was where Python passes it on as a cause.

    That is of a RuntimeError while a class is made (3.11), of an ImportError while a module in C is
    loaded, of a SystemError where C has not seen it: their handlers would take it for a failure.
    What fails after one was lost fails by that: numba lacks what its compiler would have handed it.

    :raises Interrupted: it came there
    """
    try:
        try:
            yield
        except Exception:
            if _comes_again.is_set():
                time.sleep(_LONGEST_S)         # until it has come, here
            raise
    except BaseException as error:
        for its in error, error.__cause__, error.__context__:
            if isinstance(its, Interrupted):
                its.arrive()
                _hold_compiler(its)
        if isinstance(error.__cause__, Interrupted):
            raise error.__cause__ from None
        raise


def _hold_compiler(interrupted: Interrupted) -> None:
    """Hold what LLVM has in hand until Python ends: it frees twice what C had just taken over."""
    place = interrupted.__traceback__
    while place is not None:
        if place.tb_frame.f_globals.get('__name__', '').startswith('llvmlite.'):
            _held.append(interrupted)
            return
        place = place.tb_next


def leave_to(loop: asyncio.AbstractEventLoop, end: typing.Callable[[int], object]) -> None:
    """Leave signals to a loop that gets them by a file descriptor, as that of launch.

    Python raises KeyboardInterrupt besides, in whatever the loop is about, which is lost: launch
    would wait for ever for a process whose end was just reported to it.

    :param end: called with the number of the others while the loop runs
    """
    def interrupt(number: int, frame: types.FrameType | None) -> None:
        if not loop.is_running():
            signal.default_int_handler(number, frame)

    if (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        signal.signal(signal.SIGINT, interrupt)
        for number in _SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(
                    number, lambda number, frame: end(number) if loop.is_running() else None)
        _ignore_at_exit()


class Stop:
    """Remembers that one of them has come."""

    def __init__(self, takes_over: bool = True) -> None:
        self.asked = False
        self.number = 0        # which has come last
        self.hangs = ''        # why `asked` will not be read
        self.has_left = False  # what hangs was left by an exception, whatever was reported since
        if takes_over:
            _handle(self._on_signal)

    def note_hang(self, sentence: str) -> None:
        """Record, in another thread, why `asked` will not be read; '' when that is over.

        What hangs is left by the next of them, or now if one has come before.
        """
        self.hangs = sentence
        if sentence and self.asked and not self.has_left:
            os.kill(os.getpid(), self.number)

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        self.asked, self.number = True, number
        if self.hangs:
            self.has_left = True
            raise RunError(self.hangs)


@contextlib.contextmanager
def held_back() -> typing.Iterator[Stop]:
    """Let them wait for what is not to be interrupted; it looks at what is yielded."""
    if threading.current_thread() is not threading.main_thread():
        yield Stop(takes_over=False)       # signals are for the main thread
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    stop = Stop()
    try:
        yield stop
    except RunError:
        if not stop.has_left:
            raise              # it is not that of a signal
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if stop.asked:         # also where something else has failed meanwhile
            signal.raise_signal(stop.number)


@functools.cache
def _ignore_at_exit() -> None:
    """Have them ignored when Python ends: it takes handlers away, and the next would kill it."""
    atexit.register(ignore)


def _handle(handler: typing.Callable[[int, types.FrameType | None], None]) -> None:
    _ignore_at_exit()
    for number in _SIGNALS:
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
