# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sees to it that an autopilot that can repeat itself does.

It waits while the autopilot boots, so that its simulated time does not depend on wall time.

While the start script of PX4 runs, it starts processes and reads files, and some threads look by
the wall clock whether others have got somewhere. If time advanced meanwhile, more or fewer steps
would pass until a module is there. So each step waits until none of them acts by itself: no thread
runs or waits for the disk, and each that polls has found nothing new. What threads
are about stands in /proc (https://man7.org/linux/man-pages/man5/proc.5.html).

Until the first step tells PX4 the time, its threads sleep by the wall clock, up to a second.
Whether such a sleep ends before or after the start script has started the next module changes the
order of all that follows. So the script is stopped from before the first step until the last of
them has ended: from then on they sleep by simulated time. Before, nothing waits for such a sleep:
PX4's thread of hrt work has one of a second.

From then on the script goes last as well. A command of it starts a thread of PX4 and ends, and the
thread may wait for one with a lower priority than the script has, as that of `dataman`: whether it
was answered before the next command would depend on how long the system takes to begin that.

Nor may a thread wait for the disk, since others run meanwhile. So what PX4 and its start script
are made of is brought to memory before the first step; what is read all the same is noticed.
"""
from __future__ import annotations

import contextlib
import ctypes
import itertools
import mmap
import os
import pathlib
import signal
import time
import typing

import numpy as np
import psutil

from px4_sim_ros.px4.console import AgentWatch
from px4_sim_ros.px4.shared_core import go_last

_LOOK_PERIOD_S = 0.05
# Of wall time. Another autopilot may have children for ever.
_LONGEST_S = 20.0


def process_at(address: tuple[str, int]) -> int | None:
    """Return who has a TCP connection from an address; None if none on this machine has."""
    return next((connection.pid for connection in psutil.net_connections('tcp')
                 if connection.laddr == address and connection.pid is not None), None)


class StartScript:
    """Looks whether an autopilot still has children, as PX4 has until its start script has ended.

    PX4 answers long before that, and complains when its boot takes more than 20 s of its time.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._process: psutil.Process | None = None
        self._began_s = time.monotonic()
        self._looked_s = 0.0           # 0: never
        self._runs = True

    def runs(self) -> bool:
        """Return whether it did at the last look; when it has ended, that is for ever."""
        now_s = time.monotonic()
        if self._runs and now_s - self._looked_s >= _LOOK_PERIOD_S:
            self._runs = now_s - self._began_s < _LONGEST_S and self._look()
            self._looked_s = time.monotonic()
        return self._runs

    def _look(self) -> bool:
        with contextlib.suppress(psutil.Error):      # it has just ended
            if self._process is None:
                process = process_at(self._address)
                self._process = psutil.Process(process) if process is not None else None
            return self._process is not None and any(map(_runs, self._process.children()))
        return False


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):      # it has just ended; others may not have
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


_LIBC = ctypes.CDLL(None, use_errno=True)


class PinnedFile:
    """Keeps a file in memory as long as it lives, so that who has mapped it never waits for it."""

    def __init__(self, path: pathlib.Path) -> None:
        with path.open('rb') as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            file.read()
        self._bytes = np.frombuffer(mapped, np.uint8)
        # The map ends with the last who uses it, and the pin with the map.
        self.is_pinned = not _LIBC.mlock(
            ctypes.c_void_p(self._bytes.ctypes.data), ctypes.c_size_t(self._bytes.size))


_PROC = pathlib.Path('/proc')
# What PX4 has in its folder: scripts, and what its modules read.
_OWN_FILES = 'etc/**/*'
# Where each program that the start script runs looks up its libraries (ld.so(8)), and where the
# logger looks up the time zone (tzset(3)).
_SYSTEM_FILES = pathlib.Path('/etc/ld.so.cache'), pathlib.Path('/etc/localtime')
# Of wall time.
LONGEST_S = 20.0
# How long after a look the next one is, and how long after some of them that were in vain, since
# they hold up the script, and others who fly on the core.
_LOOK_S, _SOON_LOOKS, _LATER_LOOK_S = 0.0005, 8, 0.004
# A thread that sleeps longer, unlike PX4's work queues, is waited for when the script is stopped.
_LONG_SLEEP_S = 0.1
# States of a thread that acts by itself: it runs, or waits for the disk.
_BUSY = 'RD'
# By a signal, or by a debugger.
_STOPPED = 'Tt'
# Where `stat` has the page faults for which the disk was read, its own and those of children that
# have ended, counted from the state.
_MAJOR_FAULTS, _MAJOR_FAULTS_OF_CHILDREN = 9, 10
# Where a thread stands that will look again by the wall clock, and one that waits for data, which
# may look at the time now and then.
_LOOKS_AGAIN, _WAITS_FOR_DATA = b'nanosleep', b'poll'


class _Thread(typing.NamedTuple):
    is_busy: bool
    looks_again: bool
    waits_for_data: bool
    switches: int          # how many times it has gone to sleep


# What is read of each thread, and where its state, its switches and its place are in that.
_FILES = 'stat', 'status', 'wchan'
_MOST_BYTES = 4096
_SWITCHES = b'\nvoluntary_ctxt_switches:'


class _Threads:
    """Reads what threads are about, again and again: their files stay open.

    To open them takes ten times as long as to read them, and a boot is looked at in each step.
    """

    def __init__(self) -> None:
        self._files: dict[str, list[int]] = {}         # by the number of the thread

    def read(self, processes: typing.Iterable[int]) -> dict[str, _Thread]:
        """Return the activity of the threads of processes, by their numbers."""
        found: dict[str, _Thread] = {}
        for process in processes:
            with contextlib.suppress(OSError):         # it has just ended
                for name in os.listdir(f'/proc/{process}/task'):
                    if (thread := self._thread(process, name)) is not None:
                        found[name] = thread
        for name in self._files.keys() - found.keys():
            self._close(name)
        return found

    def _thread(self, process: int, name: str) -> _Thread | None:
        """Return the activity of a thread, None if it has just ended."""
        try:
            if name not in self._files:
                self._files[name] = []
                for file in _FILES:
                    self._files[name].append(
                        os.open(f'/proc/{process}/task/{name}/{file}', os.O_RDONLY))
            stat, status, place = (
                os.pread(file, _MOST_BYTES, 0) for file in self._files[name])
        except OSError:
            return None
        # The name of the program is in brackets, and may have some itself.
        state = stat[stat.rindex(b')') + 2:][:1].decode()
        switches = status[status.index(_SWITCHES) + len(_SWITCHES):].split(maxsplit=1)[0]
        return _Thread(
            state in _BUSY, _LOOKS_AGAIN in place, _WAITS_FOR_DATA in place, int(switches))

    def _close(self, name: str) -> None:
        for file in self._files.pop(name):
            os.close(file)

    def close(self) -> None:
        """Close all files; a second time nothing happens."""
        for name in [*self._files]:
            self._close(name)

    def __del__(self) -> None:
        self.close()


class _DiskUse(typing.NamedTuple):
    """How processes and those of their children that have ended have used the disk."""

    major_faults: int
    read_bytes: int
    written_bytes: int
    pages_missed: int          # of the system: in memory there was none for a fault


class BootWatch:
    """Looks at the session of the process that has connected, until its start script has ended."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self._process = process_at(address)
        self._session = _session_of(self._process)
        self.is_booting = self._session is not None
        self.agent = AgentWatch(self._process)
        self._disk_use: _DiskUse | None = None     # up to the last look
        self._seen: dict[str, _Thread] = {}        # what it was about when it was last seen to act
        self._seen_s = 0.0                         # when that was
        self._threads = _Threads()
        # Whether `stop_script` will wait until who sleeps long has woken.
        self._will_stop = self._process == self._session
        self._stopped: list[int] = []              # processes of its start script
        self._files: list[PinnedFile] = []

    def load_files(self) -> None:
        """Read all files that the autopilot and its start script are made of, and keep them.

        The system may take from memory what has not been used for a minute, such as what PX4 needs
        for its boot only.
        """
        own = _PROC / str(self._process)
        paths = {*_SYSTEM_FILES}
        with contextlib.suppress(OSError):                       # it has just ended
            paths |= {*(own / 'cwd').glob(_OWN_FILES)}
        for folder in _folders_of_commands(own):
            with contextlib.suppress(OSError):                   # there is none
                _read_links(folder)
        for process in self._processes():
            with contextlib.suppress(OSError):                   # it has just ended
                maps = (_PROC / str(process) / 'maps').read_text().splitlines()
                paths |= {pathlib.Path(line.split(maxsplit=5)[5]) for line in maps if '/' in line}
        for path in paths:
            with contextlib.suppress(OSError, ValueError):       # no file, or an empty one
                self._files.append(PinnedFile(path))

    def stop_script(self) -> None:
        """Let the start script stand still until no thread is left that sleeps by the wall clock.

        Then it runs while no thread of the autopilot has anything to do. To be called before the
        autopilot gets its first step; `settle` releases it. In a session that is not the
        autopilot's own there may be others, who are left alone. From here on it is noticed if the
        disk is used.
        """
        self._disk_use = _disk_use(self._processes())
        self._will_stop = False
        if self._process != self._session:
            return
        for process in self._processes():
            if process != self._process:
                with contextlib.suppress(ProcessLookupError):      # it has just ended
                    if os.sched_getscheduler(process) == os.SCHED_FIFO:
                        go_last(process)
                    os.kill(process, signal.SIGSTOP)
                    self._stopped.append(process)

    def let_script_go_on(self) -> None:
        """Release the start script; a second time nothing happens."""
        while self._stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._stopped.pop(), signal.SIGCONT)

    def settle(self, longest_s: float = LONGEST_S) -> bool:
        """Wait until no thread acts by itself; return whether that has come.

        If it has not, the next call begins with what this one has seen: on a busy machine there
        may be but one look in a call.
        """
        deadline_s = time.monotonic() + longest_s
        for looks in itertools.count(1):
            now = self._look()
            if self._stopped:
                # Twice alike: one who was looked at before may have been woken by one after it.
                both = *self._seen.values(), *now.values()
                if _is_like(self._seen, now) and not any(thread.looks_again for thread in both):
                    self.let_script_go_on()
                    now = {}
                self._seen = now
            elif not self.is_booting or _is_at_rest(self._seen, now) or (
                    self._will_stop and _is_like(self._seen, now)
                    and time.monotonic() - self._seen_s > _LONG_SLEEP_S):
                self._seen = {}
                return True
            elif not _is_like(self._seen, now):
                self._seen, self._seen_s = now, time.monotonic()
            if time.monotonic() > deadline_s:
                break
            time.sleep(_LOOK_S if looks < _SOON_LOOKS else _LATER_LOOK_S)
        return False

    def wrong_schedule(self, step: int = 0) -> str:
        """Return a sentence about a thread that has not its place on our core, '' for none.

        :param step: the thread of the step, which is to come last there; 0: that of the caller
        """
        core = os.sched_getaffinity(step)
        with contextlib.suppress(OSError):       # it has just ended
            for thread in (_PROC / str(self._session) / 'task').iterdir():
                if os.sched_getscheduler(int(thread.name)) != os.SCHED_FIFO:
                    return f'thread {thread.name} of the autopilot has not SCHED_FIFO'
                if len(core) != 1 or os.sched_getaffinity(int(thread.name)) != core:
                    return f'thread {thread.name} of the autopilot and the step are not on one core'
        if os.sched_getscheduler(step) & ~os.SCHED_RESET_ON_FORK != os.SCHED_RR:
            return 'the step has not SCHED_RR'
        return ''

    def disk_used(self) -> str:
        """Return how it has used the disk since the last look, '' for not at all.

        Others, and the step, run while it waits for that. To be called when the boot is
        over: until then there are processes of its start script of which nothing is known yet.
        """
        before, self._disk_use = self._disk_use, _disk_use([self._process])
        if before is None or self._disk_use is None:
            return ''
        faults, read_bytes, written_bytes, pages_missed = (
            now - then for now, then in zip(self._disk_use, before))
        # Linux counts a fault that was tried again as well: another PX4 began a program in the same
        # moment, and had a page of it. That it was in memory is known only if no page was missed.
        if not (read_bytes or written_bytes or (faults and pages_missed)):
            return ''
        return f'{faults} page faults, {read_bytes} bytes read, {written_bytes} bytes written'

    def _look(self) -> dict[str, _Thread]:
        """Return the activity of all threads; with the last process but one the boot is over."""
        processes = self._processes()
        self.is_booting = len(processes) > 1
        return self._threads.read(processes if self.is_booting else ())

    def _processes(self) -> list[int]:
        if self._session is None:
            return []
        return [process for process in map(int, filter(str.isdigit, os.listdir(_PROC)))
                if _session_of(process) == self._session]


def _folders_of_commands(process: pathlib.Path) -> list[pathlib.Path]:
    """Return where a process has its program, and then where it looks for others."""
    with contextlib.suppress(OSError):                           # it has just ended
        environment = dict(line.partition('=')[::2] for line in
                           (process / 'environ').read_text(errors='replace').split('\0'))
        return [(process / 'exe').readlink().parent,
                *map(pathlib.Path, environment.get('PATH', '').split(os.pathsep))]
    return []


def _read_links(folder: pathlib.Path) -> None:
    """Read a folder, and all links in it: PX4's commands are links.

    A look for a command that does not exist, as that of a module that was not built, reads all
    folders. The first who follows a link in a day writes that to the disk (relatime in mount(8)).
    """
    for entry in folder.iterdir():
        if entry.is_symlink():
            os.readlink(entry)


def _is_like(before: dict[str, _Thread], now: dict[str, _Thread]) -> bool:
    """Return whether none has done anything but poll."""
    return before.keys() == now.keys() and all(
        not thread.is_busy and (
            before[name].looks_again or before[name].waits_for_data
            or thread.switches == before[name].switches)
        for name, thread in now.items())


def _is_at_rest(before: dict[str, _Thread], now: dict[str, _Thread]) -> bool:
    """Return whether all who look again have done so, and nothing has come of it."""
    return _is_like(before, now) and all(
        now[name].switches > thread.switches
        for name, thread in before.items() if thread.looks_again)


def rests(process: int) -> bool:
    """Return whether no thread of a process acts, but to look for data, and it is not stopped."""
    with contextlib.suppress(OSError), contextlib.closing(_Threads()) as threads:
        before = threads.read([process])
        time.sleep(_LOOK_S)
        state = (_PROC / str(process) / 'stat').read_text().rpartition(')')[2].split()[0]
        return state not in _STOPPED and _is_like(before, threads.read([process]))
    return False                             # it has just ended


def _disk_use(processes: typing.Iterable[int | None]) -> _DiskUse | None:
    """Return how processes have used the disk until now; None if one has ended."""
    faults = read_bytes = written_bytes = 0
    with contextlib.suppress(OSError):
        of_system = (_PROC / 'vmstat').read_text().partition('\npgmajfault ')[2]
        for process in processes:
            folder = _PROC / str(process)
            stat = (folder / 'stat').read_text().rpartition(')')[2].split()
            counters = dict(line.split(': ') for line in (folder / 'io').read_text().splitlines())
            faults += int(stat[_MAJOR_FAULTS]) + int(stat[_MAJOR_FAULTS_OF_CHILDREN])
            read_bytes += int(counters['read_bytes'])
            written_bytes += int(counters['write_bytes'])
        return _DiskUse(faults, read_bytes, written_bytes, int(of_system.split(maxsplit=1)[0]))
    return None


def _session_of(process: int | None) -> int | None:
    """Return the session of a process, None when it has just ended or there is none."""
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(process) if process is not None else None
    return None
