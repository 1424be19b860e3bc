# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who hands runs to slots: threads of this process, or an executor of the user's cluster.

Whatever has `submit` and returns futures of `concurrent.futures` is an executor. A thread of it has
a slot: a core and a process that flies.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import sys
import typing

from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.campaign.slots import Answer, Slots
from px4_sim_ros.model.errors import ParameterError, RunError, check_installed


class ExecutorEndedError(RunError):
    """Who hands out the runs is there no longer; what is flown is flown."""


@contextlib.contextmanager
def asked() -> typing.Iterator[None]:
    """Turn what an executor says whose scheduler, client or workers are gone into a sentence.

    :raises ExecutorEndedError: it has ended
    """
    try:
        yield
    except (concurrent.futures.CancelledError, concurrent.futures.BrokenExecutor) as error:
        raise ExecutorEndedError(
            f"the executor has ended: {str(error) or 'a run was cancelled'}") from error


def answer_of(future: concurrent.futures.Future[typing.Any]) -> Answer:
    """Wait for a run, and return its outcome; that its workers were killed is an answer.

    :raises ExecutorEndedError: who hands out the runs has ended
    """
    with asked():
        try:
            answer: Answer = future.result()
        except _killed_worker() as error:
            sentence = ('each worker of Dask that flew it was killed, lastly that at'
                        f' {error.last_worker.address}')
            return {'lost': sentence}
    return answer


def _killed_worker() -> typing.Any:
    """Return Dask's error for a task whose workers were all killed; none if Dask is not used.

    An executor may be of the user's own Dask, so it is known by whether its module was imported.
    """
    distributed: typing.Any = sys.modules.get('distributed')
    return () if distributed is None else distributed.KilledWorker


THREADS, DASK = EXECUTORS = ('threads', 'dask')
Flyer = typing.Callable[[Job], Answer]


class Executor(typing.Protocol):
    """What runs a function elsewhere."""

    def submit(
        self, fn: typing.Callable[..., typing.Any], /, *args: typing.Any,
    ) -> concurrent.futures.Future[typing.Any]:
        """Return a future of the function's result."""


class Opened(typing.NamedTuple):
    """An executor that is there, and what it runs."""

    executor: Executor
    fly: Flyer
    slots: int
    note: str                # for the user: where to look at it


def check(name: str, scheduler: str = '') -> None:
    """Check that an executor can be opened."""
    if scheduler and name != DASK:
        raise ParameterError(f'scheduler {scheduler!r}: is only for --executor {DASK}')
    if name == DASK:
        check_installed('distributed')


@contextlib.contextmanager
def opened(name: str, workers: int, scheduler: str = '') -> typing.Iterator[Opened]:
    """Yield an executor; all that it has started is ended afterwards.

    :param name: of EXECUTORS
    :param workers: how many fly at the same time
    :param scheduler: address of a Dask scheduler; '' starts a cluster on this machine
    """
    check(name, scheduler)
    if name == DASK:
        from px4_sim_ros.campaign.dask_executor import opened_on_dask
        with opened_on_dask(workers, scheduler) as found:
            yield found
        return
    slots = Slots()
    executor = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix='slot')
    try:
        yield Opened(executor, slots.fly, workers, '')
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        slots.close()
        executor.shutdown()
