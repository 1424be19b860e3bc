# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `compare`: two recordings."""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import typing

from px4_sim_ros.cli import output
from px4_sim_ros.cli.terminal import console
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.analysis.comparison import (
    BagComparison,
    Difference,
    compare_bags,
    difference_text,
    differing_text,
)
from px4_sim_ros.recording.analysis.deviation import Deviation
from px4_sim_ros.recording.analysis.deviation import deviation as deviation_of
from px4_sim_ros.recording.bag.reader import BagReader, vehicles_of
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.recording.report import comparison_report as report
from px4_sim_ros.spec.resources import check_page
from px4_sim_ros.step.graph import COMMAND


def each(
    options: argparse.Namespace, bags: typing.Sequence[BagReader],
    of_one: typing.Iterable[str], action: typing.Callable[[BagReader], int],
) -> int:
    """Do something with each vehicle; return the largest exit code.

    :param of_one: options that are for one vehicle only
    """
    if len(bags) == 1:
        return action(bags[0])
    for name in of_one:
        if getattr(options, name):
            raise ParameterError(f'{name}: several vehicles are in the recording; name one, such'
                                 f' as {bags[0].folder}')
    code = 0
    for bag in bags:
        print(f'{bag.run.namespace}:', flush=True)
        code = max(code, action(bag))
    return code


_EXIT_DIFFERENT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument('bags', nargs=2, metavar='BAG', help='folders of two recordings')
    output.add_json(parser)
    parser.add_argument('--report', '--plot', dest='plot', type=pathlib.Path, metavar='FILE.html',
                        help='write a page with curves over time here')


def compare(options: argparse.Namespace) -> int:
    """Print what came of it; return 0 if the runs are identical, 1 if not, 2 for bad input."""
    output.check_json(options)
    check_page('plot', options.plot)
    first, other = (vehicles_of(folder) for folder in options.bags)
    pairs = _paired(first, other)
    return each(options, first, ('json', 'plot'), lambda bag: _compare(
        bag, pairs[bag.run.namespace], options))


def _paired(
    first: typing.Sequence[BagReader], other: typing.Sequence[BagReader],
) -> dict[str, BagReader]:
    """Return which vehicle of the other recording each one is compared with, by namespace."""
    if len(first) == len(other) == 1:
        return {first[0].run.namespace: other[0]}
    names, others = ([bag.run.namespace for bag in bags] for bags in (first, other))
    if names != others:
        raise ParameterError(
            f"the recordings have other vehicles: {', '.join(names) or 'one'} and"
            f" {', '.join(others) or 'one'}")
    return dict(zip(names, other))


def _compare(one: BagReader, other: BagReader, options: argparse.Namespace) -> int:
    found = compare_bags(one, other)
    report_comparison(one, other, found, options)
    return 0 if found.identical else _EXIT_DIFFERENT


def report_comparison(
    one: BagReader, other: BagReader, found: BagComparison, options: argparse.Namespace, *,
    is_what_if: bool = False,
) -> None:
    """Print how two recordings compare, and write the files that `options` ask for."""
    apart: Deviation | None = None
    if not found.identical or options.json or options.plot:
        apart = dataclasses.replace(deviation_of(one, other), names=found.names)
    terminal = console()
    if not is_what_if and not found.identical:
        terminal.print(report.comparison_table(found))
    if is_what_if and apart is not None and apart.is_none and not found.agree:
        print('there is no deviation of the motion, since the commands are those of the recording;'
              f' messages that differ: {differing_text(found)}')
    elif apart is not None and not found.agree:
        terminal.print(report.deviation_table(apart))
        if apart.sentence:
            print(apart.sentence)
    if not is_what_if or found.agree:
        print(found.sentence)
    if apart is not None:
        _write_files(found, apart, options)


def _write_files(found: BagComparison, apart: Deviation, options: argparse.Namespace) -> None:
    if options.json:
        output.write_json(options.json, {'comparison': report.comparison_json(found),
                                         'deviation': report.deviation_json(apart)},
                          allow_nan=False)
        if isinstance(options.json, pathlib.Path):
            print(f'the figures are in {options.json}')
    if options.plot:
        if not apart.groups:
            raise ParameterError(f'plot {options.plot}: there is nothing to plot')
        report.write_plot(apart, options.plot)
        print(f'look at {options.plot}')


# What a flight is expected to be: another flight, known by its fingerprint or its recording.

class Expectation(typing.NamedTuple):
    """The fingerprint that is expected."""

    text: str                        # as the user gave it
    fingerprint: str
    reference: BagReader | None      # the flight that has it, if it is at hand

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """Read the option: a fingerprint, or the folder of a recording."""
        if re.fullmatch('[0-9a-f]{16}', text):
            return cls(text, text, None)
        try:
            reference = BagReader(text)
            fingerprint, unrepeatable = recorded_fingerprint.read(reference)
        except BagError as error:
            raise ParameterError(f'expect {text}: must be a fingerprint of 16 hexadecimal digits'
                                 f' or a recording; {error}') from error
        if unrepeatable:
            raise ParameterError(f'expect {text}: no flight repeats that one: {unrepeatable}')
        return cls(text, fingerprint, reference)

    def failure(self, fingerprint: str, recording: str) -> str:
        """Return why a flight is another one, and where it parts; '' if it is the same.

        :param recording: the folder of the flight, if the reference is at hand
        """
        if fingerprint == self.fingerprint:
            return ''
        text = f"expect {self.text}: the fingerprint is {fingerprint or 'not known'}"
        return f'{text}; {self._parting(recording)}' if self.reference and recording else text

    def _parting(self, recording: str) -> str:
        """Return where a flight leaves the reference: its first difference, and its command's."""
        assert self.reference is not None
        found = compare_bags(self.reference, BagReader(recording))
        names = 'the reference', 'this flight'
        if found.first is None:
            return 'all messages that are in both recordings are the same'
        command = found.topics[COMMAND].first
        parts = dict.fromkeys(part for part in (found.first, command) if part is not None)
        return 'it differs first in ' + ', then in '.join(
            f'step {self._step(part)}, {difference_text(part, names)}' for part in parts)

    def _step(self, difference: Difference) -> int:
        assert self.reference is not None
        return difference.time_us // self.reference.run.world.step_us
