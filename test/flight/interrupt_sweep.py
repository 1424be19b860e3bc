# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ends `fly` by Ctrl-C at many moments, once and twice, and says how it ended.

    python test/flight/interrupt_sweep.py --instance 30

No test: it takes a quarter of an hour. It prints a row for each mode, and a line for each end that
is not as it should be.
"""
import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import typing
import uuid

import psutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = 'core', 'composed', 'separate'
PATIENCE_S = 60.0
BETWEEN_S = 0.1                 # the first Ctrl-C and the second
MARK = 'PX4_SIM_ROS_SWEEP'      # in the environment of all that a flight starts
# Of a PX4, which is none of these flights.
NOT_OURS = 'px4_sim_ros_px4_'


class End(typing.NamedTuple):
    """How a flight has ended."""

    moment_s: float
    code: int
    took_s: float
    said: str
    left: list[str]

    @property
    def was_none_of_ours(self) -> bool:
        """Whether Python itself was interrupted, before the first line of the package."""
        return self.code in (1, -signal.SIGINT) and 'px4_sim_ros' not in self.said

    @property
    def problems(self) -> list[str]:
        """Return what is not as it should be."""
        if self.was_none_of_ours:
            return self.left
        found = [] if self.code == 130 else [f'exit code {self.code}']
        found += [word for word in ('Traceback', 'died') if word in self.said]
        return found + self.left


def marked(mark: str) -> list[psutil.Process]:
    """Return the processes whose environment has a mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found


def in_memory() -> set[str]:
    return {name for name in os.listdir('/dev/shm') if not name.startswith(NOT_OURS)}


def ended(mode: str, instance: int, moment_s: float, times: int) -> End:
    """Start a flight, and end it after some time."""
    mark, before = uuid.uuid4().hex, in_memory()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile('w+') as output:
        started_s = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, '-m', 'px4_sim_ros', 'fly', '--mode', mode, '--mission', 'hover',
             '--speed-factor', '1', '--instance', str(instance)], cwd=ROOT, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
            env=os.environ | {MARK: mark, 'TMPDIR': folder, 'ROS_DOMAIN_ID': str(instance)})
        time.sleep(max(0.0, started_s + moment_s - time.monotonic()))
        asked_s = time.monotonic()
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):     # as a terminal does, to the group
                os.killpg(process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(BETWEEN_S)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        took_s = time.monotonic() - asked_s
        left = [f'process {p.pid} {p.name()}' for p in psutil.wait_procs(marked(mark), 1.0)[1]]
        left += [f'TMPDIR/{path.name}' for path in pathlib.Path(folder).iterdir()]
        left += [f'/dev/shm/{name}' for name in sorted(in_memory() - before)]
        output.seek(0)
        return End(moment_s, code, took_s, output.read(), left)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--instance', type=int, required=True,
                        help='of the flights, and their ROS domain')
    parser.add_argument('--mode', choices=MODES, action='append', help='all by default')
    parser.add_argument('--moments', type=int, default=20, help='from 0 to --until')
    parser.add_argument('--until', type=float, default=10.0, help='seconds after the start')
    options = parser.parse_args()
    # A shell lets what it starts in the background ignore Ctrl-C, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    are_well = True
    for mode in options.mode or MODES:
        for times in 1, 2:
            ends = []
            for i in range(options.moments):
                moment_s = i * options.until / max(1, options.moments - 1)
                end = ended(mode, options.instance, moment_s, times)
                ends.append(end)
                if end.problems:
                    print(f'{mode}, {times} at {moment_s:.2f} s:', '; '.join(end.problems),
                          end.said, sep='\n', flush=True)
            bad = sum(bool(end.problems) for end in ends)
            early = sum(end.was_none_of_ours for end in ends)
            print(f"| `{mode}` | {('once', 'twice')[times - 1]} | {len(ends)} | {early} |"
                  f' {len(ends) - early - bad} | {bad} | {max(end.took_s for end in ends):.1f} s |'
                  f' {os.getloadavg()[0]:.0f} |', flush=True)
            are_well &= not bad
    return 0 if are_well else 1


if __name__ == '__main__':
    sys.exit(main())
