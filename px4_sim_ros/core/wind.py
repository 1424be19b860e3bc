"""Wind: constant, gusts, and turbulence."""
from __future__ import annotations

WIND_MODELS = ('constant', 'gust', 'ornstein_uhlenbeck', 'dryden')
