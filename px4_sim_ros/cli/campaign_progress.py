# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How far a campaign is, on the terminal, and what it has come to."""
from __future__ import annotations

import typing

from px4_sim_ros.campaign.conduct import Outcome, Progress
from px4_sim_ros.campaign.folder import Folder
from px4_sim_ros.campaign.statistics import share, success
from px4_sim_ros.cli.progress import Bar


class CampaignProgress(Bar):
    """A bar on a terminal, a line for each run otherwise."""

    def __init__(self, runs: int) -> None:
        super().__init__(runs, 'run')

    def show(self, progress: Progress) -> None:
        """Show a run that has ended."""
        found = share(progress.held, progress.flown)
        rate_1_s = progress.flown_here / max(progress.elapsed_s, 1e-9)
        held = f'{found.held} of {found.runs} held ({found.low:.0%} to {found.high:.0%})'
        if self._bar is not None:
            self._bar.set_postfix_str(held, refresh=False)
            self._bar.n = progress.flown
            self._bar.refresh()
        elif progress.row is not None:
            left_s = (progress.runs - progress.flown) / rate_1_s
            print(f"run {progress.run}: {progress.row['outcome']}; {held},"
                  f' {3600 * rate_1_s:.0f} flights/h, {left_s:.0f} s left', flush=True)
        if progress.lost:
            self.print(f'run {progress.run}: lost: {progress.lost}')
        elif progress.row and progress.row.get('recording_problem'):
            self.print(f"run {progress.run}: not recorded: {progress.row['recording_problem']}")


def summary(folder: Folder, outcome: Outcome) -> typing.Iterator[str]:
    """Yield what a campaign has come to."""
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
    for name, value in facts.items():
        yield f'{name:28} {value}'
