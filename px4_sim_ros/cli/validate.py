# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `validate`: a real flight, flown through the model."""
from __future__ import annotations

import argparse
import pathlib

from px4_sim_ros.cli import output
from px4_sim_ros.model.errors import check_installed
from px4_sim_ros.process import atomic_write
from px4_sim_ros.spec.files import load_vehicle
from px4_sim_ros.spec.resources import check_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('log', metavar='LOG', help='a ULog of PX4, a flight under motion capture,'
                        ' or a folder that was recorded with --record')
    parser.add_argument('--vehicle', required=True, metavar='FILE',
                        help='name in config/vehicles, or a path')
    parser.add_argument('--wind-of-log', dest='wind', nargs=2, type=float, default=(0.0, 0.0),
                        metavar=('EAST', 'NORTH'), help='m/s, if it is known')
    parser.add_argument('--mounting', nargs=2, type=float, default=(0.0, 0.0),
                        metavar=('ROLL', 'PITCH'), help="of the log's body axes, rad, as identify"
                        ' finds them')
    parser.add_argument('--against', nargs='+', default=(), metavar='LOG',
                        help='logs of PX4 of simulated flights of the same mission: the closed'
                        ' loop side by side')
    parser.add_argument('--report', type=pathlib.Path, metavar='FILE.html',
                        help='page to write; by default the name of the log, here')
    output.add_json(parser)


def validate(options: argparse.Namespace) -> int:
    """Fly the log through the vehicle; return the exit code."""
    check_installed('scipy')
    page = options.report or pathlib.Path(f'{pathlib.Path(options.log).stem}_validation.html')
    check_page('report', page)
    output.check_json(options)
    vehicle = load_vehicle(options.vehicle)
    # They compile and draw, which takes a while to import, and other commands do without.
    from px4_sim_ros.real import pages
    from px4_sim_ros.real.named import with_values
    from px4_sim_ros.real.readers import read_flight
    of_log = {f'{name}[{axis}]': value for name, values in (
        ('wind_m_s', options.wind), ('mounting_rad', options.mounting))
        for axis, value in enumerate(values)}
    from px4_sim_ros.real import closed_loop
    found = pages.validated(
        with_values(read_flight(options.log), of_log), vehicle.name, vehicle,
        closed_loop.compared(options.log, options.against) if options.against else [])
    atomic_write.write(page, pages.validation_page(found))
    for line in pages.of_validation(found):
        print(line)
    if options.json:
        output.write_json(options.json, pages.validation_json(found))
    print(f'look at {page}')
    return 0
