# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps and resets a second of the environments of Gymnasium: `python -m benchmarks.learning`."""
from __future__ import annotations

import os
import time
import typing

import gymnasium
import numpy as np

import px4_sim_ros.learning  # noqa: F401

_RESETS, _STEPS = 5, 400


def measure(name: str, **how: typing.Any) -> tuple[float, float]:
    """Return steps and resets a second, with actions that hold the target."""
    environment = gymnasium.make(f'px4_sim_ros/{name}-v0', limit_s=1000.0, **how)
    try:
        environment.reset(seed=0)
        started_s = time.perf_counter()
        for seed in range(_RESETS):
            environment.reset(seed=seed)
        resets_s = time.perf_counter() - started_s
        shape = environment.action_space.shape
        assert shape is not None, 'it is a box'
        action, steps = np.zeros(shape, np.float32), 0
        started_s = time.perf_counter()
        while steps < _STEPS:
            steps += 1
            if environment.step(action)[2]:
                break
        return steps / (time.perf_counter() - started_s), _RESETS / resets_s
    finally:
        environment.close()


def main() -> None:
    """Print a table."""
    print('environment   steps/s  resets/s')
    kinds: dict[str, dict[str, typing.Any]] = {'Motors': {}, 'SetPoint': {}}
    if px4_dir := os.environ.get('PX4_DIR'):
        kinds['Px4'] = {'px4_dir': px4_dir}
    for name, how in kinds.items():
        steps, resets = measure(name, **how)
        print(f'{name:12} {steps:8.0f} {resets:9.2f}')


if __name__ == '__main__':
    main()
