# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Slots: a thread of an executor has a core, and a process on it that stays and flies.

A thread waits for its own process only. So when a process is killed it is known which run it flew,
and the others fly on; a pool of processes would be broken as a whole.
"""
from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import typing

import psutil

from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.process import machine_locks
from px4_sim_ros.process.children import SIGNALS_WAIT, die_with_parent, own_module

Answer = dict[str, typing.Any]
"""`row`, or `lost` or `refused` with a sentence; and `starts`, how many processes it took."""

_TRIES = 2
# Of wall time. A worker gives a flight up by itself; then it is given up.
_GRACE_S = 30.0
_END_S = 6.0
_PX4_IN_MEMORY = '/dev/shm/px4_sim_ros_px4_'


class Worker:
    """A process that flies, as its parent sees it."""

    def __init__(self, core: int, autopilot: str) -> None:
        # What it prints beside its rows is noise of flights: PX4's folder, retries.
        self._folder = tempfile.mkdtemp(prefix='px4_sim_ros_run_')
        self._process = subprocess.Popen(
            [*die_with_parent(), *SIGNALS_WAIT, *own_module(
                'px4_sim_ros.campaign.worker', str(core), autopilot, self._folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        self._said = ''
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Keep the last line that it prints: the reason, if it ends."""
        assert self._process.stderr is not None        # it is a pipe
        for line in self._process.stderr:
            self._said = line.strip() or self._said

    def fly(self, job: Job) -> Answer:
        """Fly a run, and wait for it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        guard = threading.Timer(job.limit_s + _GRACE_S, self.end, [0.0])
        guard.start()
        try:
            print(json.dumps(job), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ''
        finally:
            guard.cancel()
        if line.endswith('\n'):
            answer: Answer = json.loads(line)
            return answer
        self.end(0.0)
        self._listener.join()
        said = f'; it has said last: {self._said}' if self._said else ''
        return {'lost': f'its process has ended with exit code {self._process.returncode}{said}',
                'is_gone': True}

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def end(self, patience_s: float = _END_S) -> None:
        """End it and what it has started; after `patience_s` at once."""
        family = _family(self._process.pid)
        memory = [folder for process in family if (folder := _folder_of(process)).startswith(
            _PX4_IN_MEMORY)]
        if patience_s:
            with contextlib.suppress(BrokenPipeError):
                self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)
        # A PX4 that was stopped does not end with its parent.
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        for folder in (*memory, self._folder):      # it removes its own, unless it was killed
            shutil.rmtree(folder, ignore_errors=True)


def _family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _folder_of(process: psutil.Process) -> str:
    try:
        return str(pathlib.Path(process.cwd()))
    except psutil.Error:
        return ''


class Core(typing.NamedTuple):
    number: int
    claim: socket.socket       # while it is open, others take another core if there is one


def claim_core() -> Core:
    """Return the core that the fewest slots of this machine keep to."""
    cores = sorted(os.sched_getaffinity(0))
    claims = (_claim(core, nth) for nth in itertools.count() for core in cores)
    return next(claim for claim in claims if claim)


def _claim(number: int, nth: int) -> Core | None:
    """Return the core if no other slot is the nth on it."""
    claim = machine_locks.hold(f'core/{number}/{nth}')
    return None if claim is None else Core(number, claim)


class Slots:
    """The slots of this process: one for each thread that flies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[int, Worker] = {}      # by thread
        self._cores: dict[int, Core] = {}
        self._is_closed = False

    def fly(self, job: Job) -> Answer:
        """Fly a run in the slot of this thread; once more if its process or its PX4 was killed."""
        answer: Answer = {}
        for starts in range(_TRIES):
            answer = self._worker(job).fly(job) | {'again': starts}
            is_gone, was_killed = (answer.pop(key, False) for key in ('is_gone', 'was_killed'))
            if is_gone:
                self._drop()
            if self._is_closed or not (is_gone or was_killed):
                break
        return answer

    def _worker(self, job: Job) -> Worker:
        me = threading.get_ident()
        with self._lock:
            if self._is_closed:
                raise RuntimeError('the campaign has ended')
            if me not in self._workers:
                if me not in self._cores:
                    self._cores[me] = claim_core()
                self._workers[me] = Worker(
                    self._cores[me].number, 'embedded' if job.px4 is None else 'px4')
            return self._workers[me]

    def _drop(self) -> None:
        with self._lock:
            self._workers.pop(threading.get_ident(), None)

    def pids(self) -> list[int]:
        """Return the processes that fly."""
        with self._lock:
            return [worker.pid for worker in self._workers.values()]

    def close(self, patience_s: float = _END_S) -> None:
        """End all; no further run is flown."""
        with self._lock:
            self._is_closed = True
            workers = list(self._workers.values())
        enders = [threading.Thread(target=worker.end, args=[patience_s]) for worker in workers]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()
        for core in self._cores.values():
            core.claim.close()


@functools.cache
def _own() -> Slots:
    """Return the slots of this process; they end with it."""
    slots = Slots()
    atexit.register(slots.close)
    return slots


def fly(job: tuple[typing.Any, ...]) -> Answer:
    """Fly a run in this process, which is a worker of Dask, of Ray, or of another executor."""
    return _own().fly(Job(*job))
