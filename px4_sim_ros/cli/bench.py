# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `bench`: how fast the modes fly, where the time goes, how near the ceiling is."""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import tempfile

from px4_sim_ros.bench import ceiling, kinds, peers, rounds, table
from px4_sim_ros.bench.budget import Budget, budget_file
from px4_sim_ros.bench.flight import FlightSettings
from px4_sim_ros.bench.machine import Machine
from px4_sim_ros.bench.results import Results
from px4_sim_ros.cli import output
from px4_sim_ros.cli.exit_codes import BAD_INPUT, FAILED
from px4_sim_ros.flight.px4 import Px4, add_schedule_argument
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process import atomic_write, signals
from px4_sim_ros.spec.compile_ahead import compile_ahead
from px4_sim_ros.spec.resources import check_writable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
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
    parser.add_argument('--record-budget', action='store_true',
                        help='make what is measured the budget of the parts')


def bench(options: argparse.Namespace) -> int:
    """Measure, print the tables, write the JSON and compare with the budget."""
    try:
        if options.repeat < 1:
            raise ParameterError(f'repeat = {options.repeat}: must be at least 1')
        if options.quick and options.record_budget:
            raise ParameterError('record-budget: the figures of --quick are too rough for it')
        px4 = Px4.find(options.px4_dir, options.px4_schedule) if options.px4_dir else None
        jmavsim = peers.find_jmavsim(options.jmavsim_dir) if options.jmavsim_dir else None
        there = [peer for peer, is_there in (
            (kinds.JMAVSIM, jmavsim), (kinds.SIH, px4 and peers.sih_is_in(px4))) if is_there]
        chosen = kinds.selected(
            options.only, px4=px4 is not None, px4_schedule=options.px4_schedule, peers=there)
        check_writable('json', options.json)
        check_writable('markdown', options.markdown)
        if options.record_budget:
            check_writable('budget', budget_file())
        budget = Budget.load()
    except ParameterError as error:
        return output.failed('bench', error, BAD_INPUT)
    machine = Machine.here(px4.build if px4 else None)
    try:
        with signals.unwrapped(), tempfile.TemporaryDirectory() as folder:
            if px4 is not None:
                _say_who_is_missing(there)
            results = _measure(options, chosen, machine, pathlib.Path(folder), str(jmavsim or ''))
    except KeyboardInterrupt:
        return output.interrupted('bench')
    except (OSError, RuntimeError, ParameterError) as error:
        return output.failed('bench', error, FAILED)
    _report(options, machine, results, budget)
    return 0


def _say_who_is_missing(there: list[str]) -> None:
    if kinds.JMAVSIM not in there:
        print('jMAVSim is left out: --jmavsim-dir names one that was built.', flush=True)
    if kinds.SIH not in there:
        print('SIH is left out: this PX4 was built without its module simulator_sih.', flush=True)


def _measure(
    options: argparse.Namespace, chosen: list[kinds.Kind], machine: Machine,
    folder: pathlib.Path, jmavsim: str,
) -> Results:
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
    plan = rounds.RoundPlan(chosen, flight, 0.5, 100, folder)
    if options.quick:
        plan = plan._replace(
            flight=flight._replace(settle_s=1.0, least_s=2.0, least_wall_s=0.3),
            share_s=0.05, share_rounds=15)
    return Results(rounds.run_rounds(plan, 1 if options.quick else options.repeat))


def _report(
    options: argparse.Namespace, machine: Machine, results: Results, budget: Budget,
) -> None:
    print()
    print(table.text(results))
    loops, calibration_us = results.loops(), results.calibration_us()
    warnings = budget.warnings(loops, calibration_us)
    print('\n'.join(['', *warnings]) if warnings else '\nAll parts are within their budget.')
    if options.json:
        figures = {'machine': dataclasses.asdict(machine), 'quick': options.quick,
                   **results.to_json(), 'warnings': warnings}
        atomic_write.write(options.json, json.dumps(figures, indent=2) + '\n')
        print(f'the figures are in {options.json}')
    if options.markdown:
        atomic_write.write(options.markdown, f'{machine}\n\n{table.markdown(results)}')
        print(f'the tables are in {options.markdown}')
    if options.record_budget:
        budget.with_measured(str(machine), calibration_us, loops).save()
        print(f'The budget is now what was measured: {budget_file()}')
