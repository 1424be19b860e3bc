# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A flight as a test: what a test writes, and the plugin of pytest that flies it.

```python
from px4_sim_ros.testing import always, gps, motor

def test_a_weak_motor_is_made_up_for(flight):
    flight.run_until(lambda s: s.height_m > 4, timeout_s=30)
    flight.now(motor(2).thrust(0.9))
    flight.expect(always({'tilt_deg': {'below': 20}}))
    flight.run_for(3)
```
"""
import importlib
import typing

__all__ = ['action', 'always', 'battery', 'command', 'eventually', 'gps', 'gust', 'motor', 'never',
           'note', 'parameter', 'payload', 'push', 'sensor', 'wind']


def __getattr__(name: str) -> typing.Any:
    """Load the words when a test asks for them: pytest loads the plugin in every run."""
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'{__name__}.words'), name)
