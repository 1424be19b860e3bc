# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `identify`: numbers of a vehicle file from real flights."""
from __future__ import annotations

import argparse
import pathlib

from px4_sim_ros.cli import output
from px4_sim_ros.model.errors import ParameterError, check_installed
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.files import Files
from px4_sim_ros.spec.resources import check_page, check_writable

_HORIZON_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('logs', nargs='+', metavar='LOG', help='as for validate; several are of'
                        ' one vehicle')
    parser.add_argument('--vehicle', required=True, metavar='FILE',
                        help='name in config/vehicles, or a path: where the search begins')
    parser.add_argument('-o', '--out', type=pathlib.Path, metavar='NEW.yaml', required=True,
                        help='vehicle file to write')
    parser.add_argument('--fit', nargs='+', default=(), metavar='NAME',
                        help='numbers to identify, and no others, such as body.mass_kg; one that'
                        ' the logs do not determine is an error')
    parser.add_argument('--horizon', type=float, default=_HORIZON_S, metavar='S',
                        help='how long the model flies open loop in the fit')
    parser.add_argument('--report', type=pathlib.Path, metavar='FILE.html',
                        help='page to write; by default beside the vehicle file')
    output.add_json(parser)


def identify(options: argparse.Namespace) -> int:
    """Identify numbers and write a vehicle file; return the exit code."""
    check_installed('scipy')
    _check(options)
    _identify(options)
    return 0


def _page(options: argparse.Namespace) -> pathlib.Path:
    return pathlib.Path(options.report or options.out.with_suffix('.html'))


def _check(options: argparse.Namespace) -> None:
    check_writable('out', options.out)
    if options.out.suffix != '.yaml':
        raise ParameterError(f'out {options.out}: is a vehicle file; its name must end with .yaml')
    if not 0.05 <= options.horizon <= 5.0:
        raise ParameterError(f'horizon = {options.horizon:g}: must be at least 0.05 and at most'
                             ' 5 s')
    check_page('report', _page(options))
    output.check_json(options)


# It compiles and draws, which takes a while to import, and other commands do without.
def _identify(options: argparse.Namespace) -> None:
    from px4_sim_ros.real import identification, pages
    from px4_sim_ros.real.readers import read_flight
    page = _page(options)
    found, new = identification.identified(
        [read_flight(log) for log in options.logs], options.vehicle,
        Files().text('vehicles', options.vehicle), options.out.stem, options.fit, options.horizon)
    atomic_write.write(options.out, new)
    atomic_write.write(page, pages.identification_page(found))
    if options.json:
        output.write_json(options.json, pages.identification_json(found))
    for line in pages.of_identification(found):
        print(line)
    print(f'wrote {options.out}; look at {page}')
