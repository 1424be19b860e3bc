# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How fast the modes fly, where the time goes, how near the ceiling is: `python -m benchmarks`."""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import sys
import tempfile

from benchmarks import ceiling, kinds, peers, results, rounds
from benchmarks.flight import FlightSettings
from benchmarks.machine import Machine
from px4_sim_ros.cli import output
from px4_sim_ros.cli.arguments import ArgumentParser
from px4_sim_ros.cli.output import BAD_INPUT, FAILED
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import atomic_write, signals
from px4_sim_ros.px4.sitl import Px4, add_schedule_argument
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.resources import check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument('--repeat', type=int, default=3, help='rounds; 3 by default')
    parser.add_argument('--only', action='append', default=[], metavar='PATTERN',
                        help="what to fly, such as core/trivial, '*/px4' or 'composed/*'; may be"
                        ' given several times')
    parser.add_argument('--quick', action='store_true',
                        help='one short round, to see that it works')
    parser.add_argument('--px4-dir', default=os.environ.get('PX4_DIR', ''),
                        help='a built PX4, to be measured as well; PX4_DIR by default')
    parser.add_argument('--jmavsim-dir', default=os.environ.get('JMAVSIM_DIR', ''),
                        help='a built jMAVSim, to be compared with; JMAVSIM_DIR by default')
    add_schedule_argument(parser)
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='write all figures here')
    parser.add_argument('--markdown', type=pathlib.Path, metavar='FILE',
                        help='write the tables of speed here, as a document has them')


def bench(options: argparse.Namespace) -> int:
    """Measure, print the tables, write the files; return the exit code."""
    try:
        if options.repeat < 1:
            raise ParameterError(f'repeat = {options.repeat}: must be at least 1')
        px4 = Px4.find(options.px4_dir, options.px4_schedule) if options.px4_dir else None
        jmavsim = peers.find_jmavsim(options.jmavsim_dir) if options.jmavsim_dir else None
        there = [peer for peer, is_there in (
            (kinds.JMAVSIM, jmavsim), (kinds.SIH, px4 and peers.sih_is_in(px4))) if is_there]
        chosen = kinds.selected(
            options.only, px4=px4 is not None, px4_schedule=options.px4_schedule, peers=there)
        check_writable('json', options.json)
        check_writable('markdown', options.markdown)
    except ParameterError as error:
        return output.failed('benchmarks', error, BAD_INPUT)
    machine = Machine.here(px4.build if px4 else None)
    try:
        with signals.unwrapped(), tempfile.TemporaryDirectory() as folder:
            if px4 is not None:
                _say_who_is_missing(there)
            measured = _measure(options, chosen, machine, pathlib.Path(folder), str(jmavsim or ''))
    except KeyboardInterrupt:
        return output.interrupted('benchmarks')
    except (OSError, RuntimeError, ParameterError) as error:
        return output.failed('benchmarks', error, FAILED)
    _report(options, machine, measured)
    return 0


def _say_who_is_missing(there: list[str]) -> None:
    if kinds.JMAVSIM not in there:
        print('jMAVSim is left out: --jmavsim-dir names one that was built.', flush=True)
    if kinds.SIH not in there:
        print('SIH is left out: this PX4 was built without its module simulator_sih.', flush=True)


def _measure(
    options: argparse.Namespace, chosen: list[kinds.Kind], machine: Machine,
    folder: pathlib.Path, jmavsim: str,
) -> results.Results:
    print(machine, flush=True)
    if machine.busy:
        print('The machine is busy with other work: the figures show no more than that it works.',
              flush=True)
    server = ''
    if any(kind.mode == kinds.CEILING for kind in chosen):
        if ceiling.compiler() is None:
            print('There is no C compiler: the ceilings are left out.', flush=True)
            chosen = [kind for kind in chosen if kind.mode != kinds.CEILING]
        else:
            server = str(ceiling.build(folder))
    compile_ahead()
    flight = FlightSettings(
        px4_dir=options.px4_dir, px4_schedule=options.px4_schedule, ceiling=server,
        jmavsim=jmavsim)
    plan = rounds.RoundPlan(chosen, flight, folder)
    if options.quick:
        plan = plan._replace(
            flight=flight._replace(settle_s=1.0, least_s=2.0, least_wall_s=0.3))
    return results.Results(rounds.run_rounds(plan, 1 if options.quick else options.repeat))


def _report(options: argparse.Namespace, machine: Machine, measured: results.Results) -> None:
    print()
    print(results.text(measured))
    if options.json:
        figures = {'machine': dataclasses.asdict(machine), 'quick': options.quick,
                   **measured.to_json()}
        atomic_write.write(options.json, json.dumps(figures, indent=2) + '\n')
        print(f'the figures are in {options.json}')
    if options.markdown:
        atomic_write.write(options.markdown, f'{machine}\n\n{results.markdown(measured)}')
        print(f'the tables are in {options.markdown}')


def main() -> int:
    """Run from the command line; return the exit code."""
    parser = ArgumentParser(prog='benchmarks', description=__doc__)
    add_arguments(parser)
    return bench(parser.parse_args())


if __name__ == '__main__':
    signals.raise_interrupt()
    sys.exit(main())
