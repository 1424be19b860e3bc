# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The run status on `sim/status`: its topic, its states, its values and their texts."""
from __future__ import annotations

import dataclasses
import enum
import typing

from px4_sim_ros.messages.diagnostics import level_of, values_of
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.step.repeatability import NonRepeatability


class RunState(enum.StrEnum):
    STARTING = 'STARTING'
    RUNNING = 'RUNNING'
    PAUSED = 'PAUSED'
    WAITING = 'WAITING'        # for an autopilot
    OVERDUE = 'OVERDUE'        # a node blocks the step
    RESETTING = 'RESETTING'
    STOPPED = 'STOPPED'        # a reset has failed
    STOPPING = 'STOPPING'


@dataclasses.dataclass(frozen=True)
class RunStatus:
    """The content of a DiagnosticStatus on `sim/status`; None is a value that it lacks."""

    state: str                                # a RunState, whatever others may publish
    sentence: str = ''                        # the state, or what explains it
    level: int = 0                            # of DiagnosticStatus
    run: int = 0                              # how many times time has begun at 0
    resets: int = 0                           # how many were asked for
    lifecycle: str = ''
    steps: int = 0                            # that are complete
    sim_time_us: int | None = None
    wall_time_s: float | None = None
    real_time_factor: float | None = None     # since the first step
    speed_factor: float | None = None         # that is asked for
    paced_s: float | None = None
    busy_s: float | None = None
    unrecorded: str = ''                      # why the recording has ended too early
    unasked: str = ''                         # why it is STOPPING, if that was not asked for
    there: tuple[str, ...] = ()               # the vehicles of a fleet that are in the world
    away: tuple[str, ...] = ()                # and those that are not, or not yet
    changes: int = 0                          # how many of these were made by hand
    gap: NonRepeatability | None = None                    # the first node that was stopped by hand

    @property
    def sim_time_s(self) -> float | None:
        """Simulated time up to which all is complete."""
        return None if self.sim_time_us is None else self.sim_time_us / US_PER_S

    def values(self) -> dict[str, str]:
        """Return the texts of the values of the DiagnosticStatus, by key."""
        texts = {'state': str(self.state), 'run': str(self.run), 'resets': str(self.resets),
                 'lifecycle': self.lifecycle, 'steps': str(self.steps)}
        numbers = {
            'sim_time_s': (self.sim_time_s, '.6f'), 'wall_time_s': (self.wall_time_s, '.6f'),
            'real_time_factor': (self.real_time_factor, '.3f'),
            'speed_factor': (self.speed_factor, 'g'),
            'paced_s': (self.paced_s, '.6f'), 'busy_s': (self.busy_s, '.6f')}
        reasons = {'unrecorded': self.unrecorded, 'unasked': self.unasked,
                   'there': ', '.join(self.there), 'away': ', '.join(self.away)}
        if self.changes:
            texts['changes'] = str(self.changes)
        if self.gap is not None:
            texts |= {key: str(value) for key, value in self.gap.values().items()}
        return texts | {key: format(number, form) for key, (number, form) in numbers.items()
                        if number is not None} | {
                            key: reason for key, reason in reasons.items() if reason}

    @classmethod
    def of(cls, message: typing.Any) -> RunStatus:
        """Read a DiagnosticStatus.

        :raises ValueError: a value that should be a number is none
        """
        values = values_of(message)
        numbers = {key: float(values[key]) for key in (
            'sim_time_s', 'wall_time_s', 'real_time_factor', 'speed_factor', 'paced_s', 'busy_s')
            if key in values}
        sim_time_s = numbers.pop('sim_time_s', None)
        return cls(
            values.get('state', ''), message.message, level_of(message),
            int(values.get('run', 0)), int(values.get('resets', 0)), values.get('lifecycle', ''),
            int(values.get('steps', 0)),
            None if sim_time_s is None else round(sim_time_s * US_PER_S), **numbers,
            unrecorded=values.get('unrecorded', ''), unasked=values.get('unasked', ''),
            there=_names(values.get('there', '')), away=_names(values.get('away', '')),
            changes=int(values.get('changes', 0)), gap=NonRepeatability.of(values))


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(', ')))
