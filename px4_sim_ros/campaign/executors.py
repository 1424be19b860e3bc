# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who hands runs to slots: threads of this process, or an executor of the user's cluster.

Whatever has `submit` and returns futures of `concurrent.futures` is an executor. A thread of it has
a slot: a core and a process that flies.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import importlib.util
import logging
import sys
import typing

from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.campaign.slots import Answer, Slots, fly
from px4_sim_ros.model.errors import ParameterError, RunError
from px4_sim_ros.spec.resources import PACKAGE


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


@contextlib.contextmanager
def opened(workers: int, scheduler: str = '') -> typing.Iterator[Opened]:
    """Yield an executor; all that it has started is ended afterwards.

    :param workers: how many fly at the same time, in threads of this process
    :param scheduler: address of a Dask scheduler, whose workers fly instead
    """
    if scheduler:
        with _opened_on_dask(scheduler) as found:
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


# A thread of a Dask worker has a slot, as a local one has. So each Dask worker needs one thread for
# each flight that it is to fly at the same time, and this package.

@contextlib.contextmanager
def _opened_on_dask(scheduler: str) -> typing.Iterator[Opened]:
    # That its scheduler is gone is one sentence; Dask's has all that it has tried.
    logging.getLogger('distributed.client').setLevel(logging.CRITICAL)
    with _client(scheduler) as client:
        count = sum(client.nthreads().values())
        if not count:
            raise ParameterError(f'scheduler {scheduler}: has no workers')
        _check_package(client, scheduler)
        # A flight is not a pure function for Dask: one that was lost is flown again.
        executor = client.get_executor(pure=False, retries=1)
        try:
            yield Opened(executor, fly, count, f'the dashboard of Dask is {client.dashboard_link}')
        finally:
            # When all is well nothing runs; else there is no wait for workers that are gone.
            executor.shutdown(wait=False)


def _check_package(client: typing.Any, scheduler: str) -> None:
    """Check that this package is where flights are handed on, and where they are flown."""
    found = {'scheduler': client.run_on_scheduler(importlib.util.find_spec, PACKAGE),
             **client.run(importlib.util.find_spec, PACKAGE)}
    missing = [place for place, spec in found.items() if spec is None]
    if missing:
        raise ParameterError(f'scheduler {scheduler}: {PACKAGE} is not installed for'
                             f' {" and ".join(missing)}')


def _client(scheduler: str) -> typing.Any:
    try:
        return importlib.import_module('distributed').Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise ParameterError(f'scheduler {scheduler!r}: does not answer: {error}') from error
