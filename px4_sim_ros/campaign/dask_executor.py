# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs on Dask: on this machine, or wherever the workers of a scheduler are.

A thread of a Dask worker has a slot, as a local one has. So each Dask worker needs one thread
for each flight that it is to fly at the same time, and this package.
"""
from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import signal
import tempfile
import typing
from multiprocessing import resource_tracker

from px4_sim_ros.campaign.executors import Opened
from px4_sim_ros.campaign.slots import fly
from px4_sim_ros.link.ports import LOCAL
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import signals
from px4_sim_ros.spec.resources import PACKAGE


@contextlib.contextmanager
def opened_on_dask(count: int, scheduler: str) -> typing.Iterator[Opened]:
    """Yield an executor of Dask.

    :param count: of workers of one thread, if they are started here
    :param scheduler: address of one that runs; '' starts a cluster on this machine
    """
    distributed = _distributed()
    # That its scheduler is gone is one sentence; Dask's has all that it has tried.
    logging.getLogger('distributed.client').setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if not scheduler:
            # It is left in the folder for temporary files otherwise.
            scratch = stack.enter_context(tempfile.TemporaryDirectory(
                prefix='px4_sim_ros_dask_', ignore_cleanup_errors=True))
            with _undisturbed(), importlib.import_module('dask').config.set(
                    {'temporary-directory': scratch}):
                # Of an interrupt its workers would log what they have dropped.
                cluster = stack.enter_context(distributed.LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, host=LOCAL,
                    dashboard_address=f'{LOCAL}:0', silence_logs=logging.CRITICAL))
                client = stack.enter_context(distributed.Client(cluster))
        else:
            client = stack.enter_context(_client(scheduler))
            count = sum(client.nthreads().values())
            if not count:
                raise ParameterError(f'scheduler {scheduler}: has no workers')
            _check_package(client, scheduler)
        # A flight is not a pure function for Dask: one that was lost is flown again.
        executor = client.get_executor(pure=False, retries=1)
        # When all is well nothing runs; else there is no wait for workers that are gone.
        stack.callback(executor.shutdown, wait=False)
        yield Opened(executor, fly, count, f'the dashboard of Dask is {client.dashboard_link}')


def _check_package(client: typing.Any, scheduler: str) -> None:
    """Check that this package is where flights are handed on, and where they are flown."""
    found = {'scheduler': client.run_on_scheduler(importlib.util.find_spec, PACKAGE),
             **client.run(importlib.util.find_spec, PACKAGE)}
    missing = [place for place, spec in found.items() if spec is None]
    if missing:
        raise ParameterError(f'scheduler {scheduler}: {PACKAGE} is not installed for'
                             f' {" and ".join(missing)}')


@contextlib.contextmanager
def _undisturbed() -> typing.Iterator[None]:
    """Let signals wait: Dask leaves half a cluster otherwise.

    Ctrl-C goes to all processes of a terminal, and what is started here keeps that it waits; Dask
    ends its processes by itself.
    """
    # It is started with the first process otherwise, and lets signals come again.
    resource_tracker.ensure_running()
    with signals.held_back():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _distributed() -> typing.Any:
    """Return the module, which has no types."""
    return importlib.import_module('distributed')


def _client(scheduler: str) -> typing.Any:
    try:
        return _distributed().Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise ParameterError(f'scheduler {scheduler!r}: does not answer: {error}') from error
