# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How much each part may cost: the last recorded figures, in calibration loops.

A part is compared with the budget as a ratio to the calibration loop of the same run, so that the
budget holds on other machines, nearly.
"""
from __future__ import annotations

import dataclasses
import json
import pathlib
import typing

from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.spec.resources import config_directory

# What a part may cost more than was recorded, until there is a warning; and how many loops more
# at least, since what is next to nothing varies most.
ALLOWED = 1.25
_SLACK_LOOPS = 0.02


@dataclasses.dataclass(frozen=True)
class Budget:
    """What was recorded."""

    machine: str = ''
    calibration_us: float = 0.0                 # of a loop on that machine
    loops: dict[str, float] = dataclasses.field(default_factory=dict)    # a step, by part

    @classmethod
    def load(cls) -> Budget:
        """Read the budget of this package; it is empty when there is none.

        :raises ParameterError: it cannot be read
        """
        path = budget_file()
        try:
            return cls(**json.loads(path.read_text(encoding='utf-8')))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, TypeError) as error:
            raise ParameterError(f'budget {path}: {sentence(error)}') from error

    def with_measured(
        self, machine: str, calibration_us: float, loops: typing.Mapping[str, float],
    ) -> Budget:
        """Return the budget after a measurement; parts that were not measured stay."""
        rounded = {part: round(value, 4) for part, value in loops.items()}
        return Budget(machine, round(calibration_us, 1), self.loops | rounded)

    def save(self) -> None:
        """Write it.

        :raises OSError: it cannot be written
        """
        budget_file().write_text(
            json.dumps(dataclasses.asdict(self), indent=2) + '\n', encoding='utf-8')

    def warnings(self, loops: typing.Mapping[str, float], calibration_us: float) -> list[str]:
        """Return a line for each part that costs more than it may.

        :param loops: what was measured
        :param calibration_us: of a loop, in the same run
        """
        found = []
        for part, measured in loops.items():
            recorded = self.loops.get(part)
            if recorded is None:
                continue
            if measured > _most(recorded):
                share = measured / recorded if recorded > 0.0 else float('inf')
                found.append(
                    f'warning: {part}: {measured * calibration_us:.1f} us a step, or'
                    f' {measured:.3f} calibration loops; that is {share:.2f} times the budget of'
                    f' {recorded:.3f}')
        return found

    def rows(self) -> list[tuple[str, ...]]:
        """Return each part: its budget in loops and in us, and the us above which is a warning."""
        return [(part, f'{loops:.3f}', f'{loops * self.calibration_us:.1f}',
                 f'{_most(loops) * self.calibration_us:.1f}')
                for part, loops in self.loops.items()]


def _most(recorded: float) -> float:
    """Return how many loops a part may cost, by how many were recorded."""
    return max(ALLOWED * recorded, recorded + _SLACK_LOOPS)


def budget_file() -> pathlib.Path:
    """Return the file of this package's budget."""
    return config_directory() / 'bench_budget.json'
