# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Commands on the recording of several vehicles: one vehicle after the other."""
from __future__ import annotations

import argparse
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.recording.bag.reader import BagReader


def each(
    options: argparse.Namespace, bags: typing.Sequence[BagReader],
    of_one: typing.Iterable[str], action: typing.Callable[[BagReader], int],
) -> int:
    """Do something with each vehicle; return the largest exit code.

    :param of_one: options that are for one vehicle only
    :raises ParameterError: one of them is given, and there are several vehicles
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
