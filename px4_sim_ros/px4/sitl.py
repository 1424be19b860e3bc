# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Starting a PX4 that was built as SITL."""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import typing

from px4_sim_ros import PACKAGE
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.process.children import Child
from px4_sim_ros.process.new_folder import try_to_make
from px4_sim_ros.px4.console import last_words
from px4_sim_ros.px4.installed import BINARY, FILES, build_of, px4_version
from px4_sim_ros.px4.memory import MEMORY
from px4_sim_ros.px4.shared_core import core_of, shared_core_of

# The socket by which the programs of PX4's start script talk to their PX4, and its lock.

_FOLDER = pathlib.Path('/tmp')


def check_socket(instance: int) -> None:
    """Check that a PX4 can make its socket; one that no PX4 serves is removed."""
    try:
        is_served = remove_dead_socket(instance)
    except PermissionError as error:
        raise ParameterError(
            f'instance = {instance}: {_path(instance)} belongs to the PX4 of another user; remove'
            ' it if that does not run, or choose another instance') from error
    if is_served:
        raise ParameterError(f'instance = {instance}: must be one that no other PX4 runs as; end'
                             ' that, or choose another instance')


def remove_dead_socket(instance: int) -> bool:
    """Remove the socket of a PX4 that has ended, which leaves it to others who could not.

    :return: whether a PX4 that runs has it
    """
    path = _path(instance)
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(FileNotFoundError):
        try:
            client.connect(str(path))
            return True
        except ConnectionRefusedError:
            path.unlink()
    return False


def _path(instance: int) -> pathlib.Path:
    return _FOLDER / f'px4-sock-{instance}'


CONSOLE = 'px4.log'
"""The file in its folder with all that a PX4 prints."""

ONE_CORE, REPEATABLE, ALL_CORES = SCHEDULES = ('one-core', 'repeatable', 'all-cores')
"""How a PX4 runs: on a core of its own, there before all else, or wherever the system puts it."""
PARAMETER = 'PX4_PARAM_'
"""The name of a variable that sets a parameter of PX4 begins with it."""
# eProsima's agent, as its sources name it, and its package for snap.
_AGENTS = 'MicroXRCEAgent', 'micro-xrce-dds-agent'
AGENT_PORT = 8888
"""The UDP port of the XRCE agent of instance 0; that of instance N is so many higher."""
_PRIORITY = 50
# A thread that keeps the core to itself for so long never sleeps: the system ends PX4.
_LONGEST_TURN_US = 5_000_000
_NORMAL_GRAVITY_SINCE = 1, 18         # in EKF2
# What it prints when it gets a SIGTERM or a SIGINT.
_ASKED_TO_END = b'PX4 Exiting...'


@dataclasses.dataclass(frozen=True)
class Px4:
    build: pathlib.Path
    schedule: str = ONE_CORE
    core_instance: int | None = None       # whose core it is on; None: that of its own instance
    of_recording: tuple[tuple[str, str], ...] = ()     # variables of a flight that is flown again
    agent: str = ''        # the program of the XRCE agent that is started beside it
    # That there are: the thread that starts it in flight may keep off some of them.
    cores: frozenset[int] = dataclasses.field(
        default_factory=lambda: frozenset(os.sched_getaffinity(0)), compare=False)

    @classmethod
    def find(cls, px4_dir: str | os.PathLike[str], schedule: str | None = ONE_CORE) -> Px4:
        """Find a PX4 as `build_of` does.

        :param schedule: of SCHEDULES. Threads of PX4 wait for one another in each step: on one
            core none has to be woken on another one. None: repeatable, where the user may
        """
        wrong = no_priority() if schedule in (None, REPEATABLE) else ''
        if schedule == REPEATABLE and wrong:
            raise ParameterError(f'px4_schedule = {REPEATABLE}: {wrong}')
        return cls(build_of(px4_dir), schedule or (ONE_CORE if wrong else REPEATABLE))

    def with_agent(self) -> Px4:
        """Return it with eProsima's agent beside it.

        :raises ParameterError: that is not installed
        """
        for name in _AGENTS:
            if found := shutil.which(name):
                return dataclasses.replace(self, agent=found)
        raise ParameterError(
            f'agent = True: {_AGENTS[0]} is not installed; build eProsima\'s Micro-XRCE-DDS-Agent,'
            ' or take px4_topics, which needs none')

    def command(self, instance: int) -> list[str]:
        """Return the command that starts it in its run folder, with the agent in its session."""
        agent = shlex.join([self.agent, 'udp4', '-p', str(AGENT_PORT + instance)])
        beside = ['sh', '-c', f'{agent} >agent.log 2>&1 & exec "$@"', 'px4'] if self.agent else []
        return [
            *beside, *self._prefix(instance),
            str(self.build / BINARY), '-d', '-i', str(instance), '-w', '.',
            '-s', 'etc/init.d-posix/rcS', str(self.build / FILES)]

    @property
    def release(self) -> tuple[int, int]:
        """Its release, as (1, 17); (0, 0) if that is not known."""
        found = re.match(r'v(\d+)\.(\d+)', px4_version(self.build))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @property
    def messages(self) -> str:
        """The folder of the definitions of its messages, '' where its sources are not there."""
        folder = self.build.parent.parent / 'msg'
        return str(folder) if folder.is_dir() else ''

    @property
    def repeats(self) -> bool:
        """Whether its flights repeat bit for bit."""
        return self.schedule == REPEATABLE

    @property
    def parameters(self) -> dict[str, str]:
        """The variables that set parameters of PX4 whatever the vehicle's file says; ours win."""
        return {**dict(self.of_recording), **parameters_set()}

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of its program, and one of the scripts and other files beside it.

        :raises OSError: one of them cannot be read
        """
        beside = hashlib.sha256()
        for path in sorted((self.build / FILES).rglob('*')):
            if path.is_file():
                name = path.relative_to(self.build)
                beside.update(f'{name} {_digest(path)}\n'.encode())
        return {str(BINARY): _digest(self.build / BINARY), str(FILES): beside.hexdigest()}

    def _prefix(self, instance: int) -> list[str]:
        whose = instance if self.core_instance is None else self.core_instance
        core = shared_core_of(whose) if self.repeats else core_of(whose, self.cores)
        on_core = ['taskset', '--cpu-list', str(core)]
        if self.repeats:
            return [*on_core, 'prlimit', f'--rttime={_LONGEST_TURN_US}',
                    'chrt', '--fifo', str(_PRIORITY)]
        return on_core if self.schedule == ONE_CORE and len(self.cores) > 1 else []

    @staticmethod
    def environment(vehicle: Vehicle) -> dict[str, str]:
        """Return the environment of PX4 in addition to ours and parameters."""
        return {'PX4_SYS_AUTOSTART': str(vehicle.px4_airframe), 'PX4_SIM_MODEL': 'none',
                'PX4_SIMULATOR': 'mavlink'}


def described(px4: Px4 | None) -> dict[str, typing.Any]:
    """Return the description of the PX4 that flies, as `RunDescription.px4`.

    :raises OSError: a file of it cannot be read
    """
    return {} if px4 is None else {
        'schedule': px4.schedule, 'build': px4.digests(), 'parameters': px4.parameters}


def parameters_set() -> dict[str, str]:
    """Return the variables of our environment that set parameters of PX4."""
    return {name: value for name, value in sorted(os.environ.items())
            if name.startswith(PARAMETER)}


def command_line(words: typing.Iterable[str]) -> str:
    """Return words for a shell, with the parameters of PX4 in front that our environment sets."""
    return ' '.join([*(f'{name}={shlex.quote(value)}' for name, value in parameters_set().items()),
                     shlex.join(words)])


def _digest(path: pathlib.Path) -> str:
    with path.open('rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


def add_argument(parser: argparse.ArgumentParser, purpose: str = '') -> None:
    """Describe the option that names a PX4."""
    parser.add_argument('--px4', '--px4-dir', dest='px4_dir', metavar='PATH|auto',
                        default='',
                        help=f"{purpose or 'the PX4 that flies'}: a source tree in which it was"
                        ' built, its build folder, or where its package is, as /opt/px4-gazebo;'
                        ' by default PX4_DIR, or the first that is found')


def add_schedule_argument(parser: argparse.ArgumentParser, default: str | None = ONE_CORE) -> None:
    """Describe the option that says how a PX4 runs."""
    parser.add_argument('--px4-schedule', choices=SCHEDULES, default=default,
                        help='repeatable: one core, real-time priority (SCHED_FIFO), the same'
                        ' flight gives the same bits; one-core: it keeps to a core of its own;'
                        ' all-cores: wherever the system puts it; by default '
                        + (default or f'{REPEATABLE} where you may use such a priority, or else'
                           f' {ONE_CORE}'))


def world_parameters(px4: Px4) -> dict[str, dict[str, typing.Any]]:
    """Return the defaults of the world of a PX4, by node."""
    found: dict[str, dict[str, typing.Any]] = {'px4_topics': {'messages': px4.messages}}
    if px4.schedule == REPEATABLE:
        # A reply that is late is the same reply: a busy disk may hold PX4 up.
        found['hil_bridge'] = {'shares_core': True, 'reply_timeout_s': 10.0}
    # Older ones believe in 9.80665 m/s^2 everywhere (PX4 #27602).
    if px4.release >= _NORMAL_GRAVITY_SINCE:
        found[''] = {'gravity_model': 'wgs84'}
    return found


def no_priority() -> str:
    """Return why a process may not go before all others on its core, '' if it may."""
    tried = subprocess.run(['chrt', '--fifo', str(_PRIORITY), 'true'], capture_output=True)
    return (tried.returncode and (
        'this user may not use SCHED_FIFO; allow it rtprio'
        f' {_PRIORITY} in /etc/security/limits.d, or give a container --cap-add=SYS_NICE')) or ''


class Px4Process(Child):
    """A PX4 that runs; what it has written is in its folder at its end."""

    def __init__(
        self, px4: Px4, instance: int, environment: typing.Mapping[str, str], folder: pathlib.Path,
    ) -> None:
        """Start it.

        :param folder: for its parameters and logs, and for all that it prints: `CONSOLE`
        """
        self.run_folder, self._instance = folder, instance
        # No thread waits for the disk in the midst of a step: the others would run on meanwhile.
        self._memory = _folder_in_memory() if px4.repeats else None
        if self._memory is not None:
            (folder / CONSOLE).symlink_to(self._memory / CONSOLE)      # where a user looks for it
        where = self._memory or folder
        self._goes_first = px4.repeats
        self._guard = _guard(self._memory, folder)
        # Without its link it keeps the core to itself: so it may never come to ending in order.
        super().__init__('PX4', px4.command(instance), folder=where, log=where / CONSOLE,
                         environment=environment, last_signal='KILL' if px4.repeats else 'TERM')
        self._guard.stdin.write(f'{self.pid}\n'.encode())
        self._guard.stdin.flush()

    @property
    def was_killed(self) -> bool:
        """Whether a signal has ended it that nothing in it raises: of a user, or of the kernel."""
        return super().was_killed or (self.exit_code == 0 and self._has_been_asked())

    @property
    def end_sentence(self) -> str:
        """How it has ended, with the last words of its console if it has failed."""
        why = last_words(self._console) if self.exit_code else ''
        return f"{super().end_sentence}{why and ': '}{why}"

    @property
    def _console(self) -> pathlib.Path:
        return (self._memory or self.run_folder) / CONSOLE

    def _has_been_asked(self) -> bool:
        """Return whether it got a SIGTERM, which it says: its exit code is that of a good end."""
        return _ASKED_TO_END in self._console.read_bytes()

    def ask_to_end(self) -> None:
        self._let_others_run()
        super().ask_to_end()

    def send_kill(self) -> None:
        """End its whole session, and do not wait."""
        self._let_others_run()
        super().send_kill()

    def _let_others_run(self) -> None:
        """Take its real-time priority away, on any core.

        The thread of a PX4 that reads a link that is gone never rests. Where it goes before all
        else, neither its own threads nor other PX4s of that core ever see a signal, even SIGKILL.
        """
        if not self._goes_first or self.exit_code is not None:
            return
        threads: list[str] = []
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):      # it has just ended
            threads = os.listdir(f'/proc/{self.pid}/task')
        for thread in map(int, threads):
            with contextlib.suppress(ProcessLookupError):      # it has just ended
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                os.sched_setaffinity(thread, range(os.cpu_count() or 1))

    def kill(self) -> None:
        """End its whole session, and keep what it has written."""
        super().kill()
        if self._guard.poll() is None:
            self._guard.communicate(b'\n')
        with contextlib.suppress(PermissionError):       # it had an instance that another user has
            if not remove_dead_socket(self._instance):
                (_FOLDER / f'px4_lock-{self._instance}').unlink(missing_ok=True)
        if self._memory is not None:
            memory, self._memory = self._memory, None
            (self.run_folder / CONSOLE).unlink()
            try:
                shutil.copytree(memory, self.run_folder, symlinks=True, dirs_exist_ok=True)
            except OSError as error:       # the flight was flown
                print(f'PX4: its files cannot be kept in {self.run_folder}: {sentence(error)}',
                      file=sys.stderr)
            shutil.rmtree(memory)


# Is given the session of the PX4, and waits until the process that has started it writes a line; if
# that is killed before, it does what `Px4Process.kill` would have done.
_GUARD = f"""trap '' INT TERM HUP
read -r session && read -r _ && exit
test -z "$session" || kill -KILL "-$session"
test -z "$0" || {{ rm -f "$1/{CONSOLE}" && cp -a "$0/." "$1" && rm -rf "$0"; }}"""


def _guard(memory: pathlib.Path | None, folder: pathlib.Path) -> typing.Any:
    """Start what ends the session of a PX4 if this process is killed, before there is one.

    The kernel ends PX4 then, but not its start script, which is stopped while PX4 boots.

    :param memory: where it writes, if that is not the folder
    """
    return subprocess.Popen(
        ['sh', '-c', _GUARD, str(memory or ''), str(folder)], stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def _folder_in_memory() -> pathlib.Path | None:
    """Return a new folder in memory, None where there is no place for it."""
    try:
        return pathlib.Path(tempfile.mkdtemp(prefix=f'{PACKAGE}_px4_', dir=MEMORY))
    except OSError:
        return None


def check_run_folder() -> None:
    """Check early that PX4 can have a folder of its own."""
    folders = _run_folders()
    existing = next(path for path in (folders, *folders.parents) if path.exists())
    try_to_make('run folder of PX4', existing, lambda trial: (trial / 'px4').mkdir())


def new_run_folder(instance: int, ros_home: pathlib.Path | None = None) -> pathlib.Path:
    """Make an empty folder where PX4 keeps its parameters and logs of one run."""
    stamp = datetime.datetime.now().strftime('%Y%m%d-%H%M%S-%f')
    folder = _run_folders(ros_home) / f'px4_{instance}_{stamp}'
    folder.mkdir(parents=True)
    return folder


def _run_folders(ros_home: pathlib.Path | None = None) -> pathlib.Path:
    of_user = pathlib.Path(os.path.expanduser(os.environ.get('ROS_HOME', '~/.ros')))
    return (ros_home or of_user) / PACKAGE
