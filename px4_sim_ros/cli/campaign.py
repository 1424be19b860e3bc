# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The command `campaign`: fly a scenario many times, and any of the runs again."""
from __future__ import annotations

import argparse
import os
import pathlib
import sys
import typing

from px4_sim_ros.campaign import conduct as conducting
from px4_sim_ros.campaign.conduct import Outcome, Progress, fly_again
from px4_sim_ros.campaign.executors import ExecutorEndedError, opened
from px4_sim_ros.campaign.folder import Folder, Px4Build
from px4_sim_ros.campaign.jobs import Row
from px4_sim_ros.campaign.plan import Campaign
from px4_sim_ros.campaign.statistics import (
    CONFIDENCE,
    at_least,
    held,
    log_losses,
    runs_to_show,
    share,
    success,
)
from px4_sim_ros.cli import flown_again, output
from px4_sim_ros.cli.output import FAILED
from px4_sim_ros.cli.progress import Bar
from px4_sim_ros.flight.instances import most_at_once
from px4_sim_ros.link.hil.line import STARTED
from px4_sim_ros.model.errors import ParameterError, check_installed, sentence
from px4_sim_ros.process import signals
from px4_sim_ros.px4.log import LogLoss
from px4_sim_ros.px4.sitl import REPEATABLE, SCHEDULES, Px4, add_argument


def refly(options: argparse.Namespace, path: str, run: str) -> int:
    """Fly a run again and compare its fingerprint; return the exit code."""
    folder = Folder.read(path)
    if not run.isdecimal():
        raise ParameterError(f'run {run!r}: must be the number of a run')
    px4 = _px4(options, folder)
    with flown_again.only_allowed(options.allow or []), opened(1) as found:
        before, now = fly_again(folder, int(run), found.fly, px4)
    if before['fingerprint'] == now['fingerprint']:
        print(f"run {run}: the same flight, fingerprint {now['fingerprint']}")
        return 0
    print(f"campaign: run {run}: the fingerprint was {before['fingerprint']} and is"
          f" {now['fingerprint']}; {_difference(before, now, folder.px4, px4)}", file=sys.stderr)
    return FAILED


def _px4(options: argparse.Namespace, folder: Folder) -> Px4Build:
    """Return which PX4 flies: that of the options, or PX4_DIR."""
    if folder.px4 is None:
        for name in 'px4_dir', 'px4_schedule':
            if (value := getattr(options, name)) is not None:
                raise ParameterError(
                    f'{name} = {value}: is for nothing: the embedded autopilot flies {folder.path}')
        return None
    build, schedule = folder.px4
    named = options.px4_dir or os.environ.get('PX4_DIR')
    if not named:
        raise ParameterError(f'px4_dir: {folder.path} was flown by {build}; --px4-dir or PX4_DIR'
                             ' names the PX4 that may be started')
    found = Px4.find(named, options.px4_schedule or schedule)
    return str(found.build), found.schedule


def _difference(before: Row, now: Row, old: Px4Build, new: Px4Build) -> str:
    """Return the versions and settings that differ from those of then."""
    then, today = (dict(part.partition(' ')[::2] for part in str(row['versions']).split(', '))
                   for row in (before, now))
    found = [f'{name} was {then.get(name, "not there")} and is {today.get(name, "not there")}'
             for name in dict.fromkeys([*then, *today]) if then.get(name) != today.get(name)]
    if old is not None and new is not None and old != new:
        found.append(f'PX4 was {" ".join(old)} and is {" ".join(new)}')
    return ', '.join(found) or 'all versions are the same'


class CampaignProgress(Bar):
    """A bar on a terminal, a line for each run otherwise."""

    def __init__(self, runs: int) -> None:
        super().__init__(runs, 'run')

    def show(self, progress: Progress) -> None:
        """Show a run that has ended."""
        found = share(progress.held, progress.flown)
        rate_1_s = progress.flown_here / max(progress.elapsed_s, 1e-9)
        so_far = f'{found.held} of {found.runs} held ({found.low:.0%} to {found.high:.0%})'
        if self._bar is not None:
            self._bar.set_postfix_str(so_far, refresh=False)
            self._bar.n = progress.flown
            self._bar.refresh()
        elif progress.row is not None:
            left_s = (progress.runs - progress.flown) / rate_1_s
            print(f"run {progress.run}: {progress.row['outcome']}; {so_far},"
                  f' {3600 * rate_1_s:.0f} flights/h, {left_s:.0f} s left', flush=True)
        if progress.lost:
            self.print(f'run {progress.run}: lost: {progress.lost}')
        elif progress.row and progress.row.get('recording_problem'):
            self.print(f"run {progress.run}: not recorded: {progress.row['recording_problem']}")


def summary(folder: Folder, outcome: Outcome) -> typing.Iterator[str]:
    """Yield the result of a campaign, in lines."""
    facts: dict[str, str] = {
        'runs': f'{len(outcome.rows)} of {folder.campaign.settings.runs}',
        'held': success(outcome.rows).text}
    session = outcome.session
    if session.flown:
        facts |= {
            'flown_now': str(session.flown), 'elapsed_s': f'{session.elapsed_s:.1f}',
            'flights_per_hour': f'{session.flights_per_hour:.0f}',
            'real_time_factor': f'{session.real_time_factor:.1f}',
            'share_not_flying': f'{session.share_not_flying:.3f}'}
    if losses := log_losses(outcome.rows):
        facts |= {name: f'{value:g}' for name, value in LogLoss.total(losses)._asdict().items()}
    for name, value in facts.items():
        yield f'{name:28} {value}'


_USAGE = """\
campaign FILE [--runs N] [--out FOLDER]     fly it; what has a row already is not flown again
       campaign refly FOLDER RUN            fly a run again and compare its fingerprint
       campaign report FOLDER               write its tables and its page again
       campaign compare FOLDER FOLDER       two campaigns over the same draws, run by run"""

# What options are for; `report` and `compare` have none.
_ONLY_OF = {
    'allow': ('refly',), 'px4_dir': ('FILE', 'refly'), 'px4_schedule': ('FILE', 'refly'),
    **dict.fromkeys(('runs', 'at_least', 'seed', 'out', 'workers', 'scheduler', 'autopilot'),
                    ('FILE',))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.usage = _USAGE
    parser.add_argument('words', nargs='+', metavar='FILE', help='name in config/campaigns, or a'
                        ' path; or what else is to be done')
    parser.add_argument('--runs', type=int, help='how many flights; that of the file by default')
    parser.add_argument('--seed', type=int, help='of all draws; that of the file by default')
    parser.add_argument('-o', '--out', metavar='FOLDER', help='where it all goes; campaigns/NAME by'
                        ' default')
    parser.add_argument('--workers', type=int, metavar='N', help='how many fly at the same time;'
                        ' by default as many as there are cores')
    parser.add_argument('--scheduler', metavar='tcp://HOST:PORT',
                        help='of Dask, whose workers fly; this machine does by default')
    parser.add_argument('--autopilot', choices=STARTED, help='that of the file by default')
    add_argument(parser)
    parser.add_argument('--px4-schedule', choices=SCHEDULES, help='how a PX4 runs, as with'
                        f' fly; {REPEATABLE} by default, for refly as it was')
    parser.add_argument('--at-least', type=float, metavar='SHARE',
                        help=f'fail unless so many hold, with a confidence of {CONFIDENCE:g};'
                        ' that of the file by default')
    flown_again.add_allow(parser)
    parser.set_defaults(allow=None, px4_dir=None)


def campaign(options: argparse.Namespace) -> int:
    """Do what is asked for; return the exit code."""
    check_installed('scipy')        # an extra: a flight does without
    word, *rest = options.words
    counts = {'refly': 2, 'report': 1, 'compare': 2}
    try:
        if word in counts and len(rest) != counts[word]:
            raise ParameterError(f'{word}: must be followed by {counts[word]} words')
        if word not in counts and rest:
            raise ParameterError(f'{rest[0]}: one argument too many; --help says what it takes')
        for name, actions in _ONLY_OF.items():
            value = getattr(options, name)
            if value is not None and (word if word in counts else 'FILE') not in actions:
                raise ParameterError(f'{name} = {value}: is only for '
                                     + ', '.join(f'`campaign {action}`' for action in actions))
        with signals.unwrapped():
            return _ACTIONS.get(word, _fly)(options, *(rest if word in counts else [word]))
    except (OSError, RuntimeError) as error:
        return output.failed('campaign', error, FAILED)
    except KeyboardInterrupt:
        return output.interrupted('campaign')


def _fly(options: argparse.Namespace, name: str) -> int:
    if options.at_least is not None and not 0.0 < options.at_least < 1.0:
        raise ParameterError(
            f'at_least = {options.at_least:g}: must be greater than 0 and less than 1')
    campaign, px4, workers = _asked_for(options, name)
    runs, share = campaign.settings.runs, campaign.settings.at_least
    if share and runs < (least := runs_to_show(share)):
        raise ParameterError(f'at_least = {share:g}: {runs} runs cannot show it, even if all hold;'
                             f' {least} can')
    folder = Folder.make(options.out or pathlib.Path('campaigns') / campaign.name, campaign, px4)
    progress = CampaignProgress(runs)
    try:
        with signals.unwrapped(), opened(workers, options.scheduler or '') as found:
            if found.note:
                progress.print(found.note)
            outcome = conducting.conduct(
                folder, found.executor, found.fly, found.slots, progress.show)
    except KeyboardInterrupt:
        progress.close()
        # Tables and page take too long after an interrupt.
        print(f'campaign: {_sentence(folder)}; `campaign report {folder.path}` makes the page',
              file=sys.stderr)
        raise
    except ExecutorEndedError as error:
        progress.close()
        _write(folder)
        raise ExecutorEndedError(f'{error}; {_sentence(folder)}') from error
    except OSError as error:
        raise OSError(error.errno, f'{sentence(error)}; {_sentence(folder)}') from error
    finally:
        progress.close()
    for line in summary(folder, outcome):
        print(line, flush=True)        # before what is said on stderr
    for number, why in sorted(outcome.lost.items()):
        print(f'campaign: run {number} did not complete; repeat the command to retry it: {why}',
              file=sys.stderr)
    problems = [row['recording_problem'] for row in outcome.rows if row.get('recording_problem')]
    if problems:
        print(f'campaign: recordings that could not be kept: {len(problems)}; the last:'
              f' {problems[-1]}', file=sys.stderr)
    if losses := log_losses(outcome.rows):
        warning = LogLoss.total(losses).warning(px4 is not None and px4[1] == REPEATABLE)
        print(f'campaign: {len(losses)} of {len(outcome.rows)} runs: {warning}', file=sys.stderr)
    _write(folder)
    return FAILED if outcome.lost or not _is_shown(share, outcome.rows) else 0


def _sentence(folder: Folder) -> str:
    rows = folder.rows()
    return (f'{len(rows)} of {folder.campaign.settings.runs} runs are flown, of which'
            f' {held(rows)} hold; the same command flies the others')


def _is_shown(share: float, rows: typing.Sequence[Row]) -> bool:
    """Return whether as many runs hold as is asked for."""
    if not share or not rows:
        return not share
    bound = at_least(rows)
    if bound < share:
        print(f'campaign: at_least = {share:g}: with a confidence of {CONFIDENCE:.0%}'
              f' it is only {bound:.4g}', file=sys.stderr)
    return bound >= share


def _write(folder: Folder) -> None:
    """Write tables and page, and say where they are."""
    with folder.writing():
        for line in conducting.write_tables(folder):
            print(line)
        if folder.rows():
            from px4_sim_ros.campaign.campaign_report import write_report
            # Before what follows on standard error.
            print(f'look at {write_report(folder)}', flush=True)


def _asked_for(
    options: argparse.Namespace, name: str,
) -> tuple[Campaign, Px4Build, int]:
    """Return the campaign as the options change it, its PX4, and the number of workers."""
    campaign = Campaign.load(name).with_settings(
        runs=options.runs, seed=options.seed, autopilot=options.autopilot,
        at_least=options.at_least)
    px4 = None
    if campaign.settings.autopilot == 'px4':
        found = Px4.find(options.px4_dir or '',
                         options.px4_schedule or REPEATABLE)
        px4 = str(found.build), found.schedule
    workers = _workers(options, px4)
    if options.scheduler:
        check_installed('distributed')
    conducting.check(campaign, px4)
    return campaign, px4, workers


def _workers(options: argparse.Namespace, px4: Px4Build) -> int:
    """Return how many fly at the same time; by default a core each, as far as there are ports."""
    autopilot, most = 'embedded' if px4 is None else 'px4', most_at_once(of_px4=px4 is not None)
    if options.workers is None:
        return min(len(os.sched_getaffinity(0)), most)
    if not 1 <= options.workers <= most:
        raise ParameterError(f'workers = {options.workers}: must be at least 1 and at most {most},'
                             f' which is for how many there are ports with autopilot {autopilot}')
    return int(options.workers)


def _report(options: argparse.Namespace, path: str) -> int:
    folder = Folder.read(path)
    if not folder.rows():
        raise ParameterError(f'campaign {path}: no run has ended yet')
    _write(folder)
    return 0


def _compare(options: argparse.Namespace, first: str, second: str) -> int:
    from px4_sim_ros.campaign.statistics import compare
    for line in compare(Folder.read(first), Folder.read(second)):
        print(line)
    return 0


_ACTIONS: dict[str, typing.Callable[..., int]] = {
    'refly': refly, 'report': _report, 'compare': _compare}
