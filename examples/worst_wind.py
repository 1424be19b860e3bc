# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Searches with SciPy: up to which wind a hop holds, and from where a wind leaves it the least."""
from scipy import optimize

from px4_sim_ros import Flight

HOP = {
    'vehicle': 'iris',
    'mission': [{'take_off': {'up_m': 2.0}}, {'hold': {'duration_s': 10.0}}, {'land': {}}],
    'expect': [{'always': {'tilt_deg': {'below': 15}}}], 'end': {'at_s': 8}}


def margin(speed_m_s, from_deg):
    """Fly; return how far from its limit the first expectation was, below 0 if it failed."""
    weather = {'wind': 'constant', 'speed_m_s': float(speed_m_s), 'from_deg': float(from_deg)}
    result = Flight(scenario=HOP | {'weather': weather}, record=False).fly()
    return result.summary()['expectations'][0]['margin']


if __name__ == '__main__':
    limit_m_s = optimize.bisect(lambda speed_m_s: margin(speed_m_s, 270), 0, 16, xtol=0.5)
    print(f'limit {limit_m_s:.1f} m/s')
    worst = optimize.minimize_scalar(lambda from_deg: margin(limit_m_s, from_deg),
                                     bounds=(0, 359), options={'maxiter': 6})
    print(f'worst {worst.x:.0f} deg {worst.fun:.3f}')
