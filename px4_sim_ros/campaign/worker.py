# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A process that stays and flies run after run: jobs come in, rows go out, as lines of JSON."""
from __future__ import annotations

from px4_sim_ros.process import blas_threads, gc_control

if __name__ == '__main__':
    blas_threads.choose()        # before what takes long to import
    gc_control.hold()

import errno
import json
import os
import pathlib
import shutil
import sys
import tempfile
import typing

from px4_sim_ros.campaign.flown import KilledAutopilotError, LostRunError, fly
from px4_sim_ros.campaign.jobs import Job
from px4_sim_ros.flight.instances import own_instance
from px4_sim_ros.model.errors import ParameterError, RunError, sentence
from px4_sim_ros.process import leaving, signals

_FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG


def answer(line: str, instance: int, within: pathlib.Path) -> dict[str, typing.Any]:
    """Return the answer to a line: a row, or why there is none.

    `lost` says nothing about the run, which can be flown again, with `was_killed` at once; after
    `is_full` there is no room for any. `refused` is a wrong value.
    """
    job = Job(*json.loads(line))
    try:
        with tempfile.TemporaryDirectory(dir=within) as name:
            folder = pathlib.Path(name)
            os.environ['ROS_HOME'] = str(folder / 'ros')        # for what PX4 writes
            return {'row': fly(job, folder, instance)}
    except ParameterError as error:
        return {'refused': str(error)}
    except KilledAutopilotError as error:
        return {'lost': sentence(error), 'was_killed': True}
    except (LostRunError, RunError) as error:
        return {'lost': sentence(error)}
    except OSError as error:
        return {'lost': sentence(error), 'is_full': error.errno in _FULL}


def main(arguments: typing.Sequence[str]) -> int:
    """Fly until there is no further job."""
    core, autopilot, folder = arguments
    os.sched_setaffinity(0, {int(core)})
    rows = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)              # what a flight prints is no row
    gc_control.release()
    try:
        signals.raise_interrupt()
        with signals.unwrapped(), own_instance(of_px4=autopilot == 'px4') as instance:
            for line in sys.stdin:
                print(json.dumps(answer(line, instance, pathlib.Path(folder))), file=rows,
                      flush=True)
    except (KeyboardInterrupt, BrokenPipeError):
        return 1               # the reader of rows has gone
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == '__main__':
    leaving.end(main(sys.argv[1:]))
