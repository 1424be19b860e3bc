# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a flight is expected to be: another flight, known by its fingerprint or its recording."""
from __future__ import annotations

import re
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.analysis import recorded_fingerprint
from px4_sim_ros.recording.analysis.comparison import Difference, compare_bags, difference_text
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.step.graph import COMMAND


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
