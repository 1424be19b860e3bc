# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A real flight through `validate` and `identify`: a cut of a log of docs/journal/validation.md."""
import json
import pathlib
import re

import numpy as np
import pytest

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.real import predictions
from px4_sim_ros.real.identification import identified
from px4_sim_ros.real.readers import read_flight
from px4_sim_ros.spec.resources import named_file
from px4_sim_ros.spec.vehicles_and_missions import load_vehicle

pytest.importorskip('pyulog')
LOG = pathlib.Path(__file__).with_name('data') / 'x500_v2_cut.ulg'
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'journal' / 'validation.md').read_text('utf-8')
THRUST, INERTIA = 'rotor_model.thrust_coefficient_n_s2', 'body.inertia_kg_m2[0]'


@pytest.fixture(scope='module')
def flight():
    return read_flight(LOG)


def of_page(name):
    """Return what the page says of the whole log, and of the model as it came."""
    row = re.search(rf'^\| {name} \| ([\d.]+)[^|]* \| ([\d.]+) ', PAGE, re.M)
    return float(row[1]), float(row[2])


def test_steady_flight_is_that_of_the_page(here, tmp_path):
    """The cut is the first third of the flight, and not far from the whole."""
    told = here('validate', LOG, '--vehicle', 'x500', '--report', tmp_path / 'x.html', '--json',
                tmp_path / 'x.json')
    assert told.returncode == 0, told.stderr
    found = json.loads((tmp_path / 'x.json').read_text())
    for name, what in ('motor command in hover', 'motor command in hover'), (
            'current, mean, A', 'current, mean'):
        log, model = of_page(name)
        assert found['steady'][what]['log'] == pytest.approx(log, rel=0.01)
        assert found['steady'][what]['model'] == pytest.approx(model, rel=0.03)
    assert list(found['starts']) == ['0.1 s', '0.5 s', '2 s']
    assert list(found['starts'].values()) == sorted(found['starts'].values(), reverse=True)
    assert 'wind: taken as still air' in found['unknown']


def test_inertia_is_refused(flight):
    with pytest.raises(ParameterError, match=(
            r'fit body\.inertia_kg_m2\[0\]: the log does not determine it: its motors explain')):
        identified([flight], 'x500', named_file('vehicles', 'x500').read_text('utf-8'), 'mine',
                   [THRUST, INERTIA])


def test_nothing_is_flown_over_a_break(flight):
    """Set points are lost eight times a minute; each start has all up to the end of its window."""
    broken_s = flight.time_s[~flight.usable]
    assert len(np.flatnonzero(np.diff(flight.usable.astype(int)) == 1)) > 5
    found = predictions.errors(flight, load_vehicle('x500'))
    assert found.horizons_s == predictions.HORIZONS_S
    for horizon_s, starts_s in zip(found.horizons_s, found.starts_s):
        first, last = starts_s[:, None] - predictions.PAST_S, starts_s[:, None] + horizon_s
        assert not ((broken_s > first) & (broken_s < last)).any()


def test_its_gains_and_filters_are_known(flight):
    """Those of PX4's airframe of the X500 V2, and not what finds gains by itself."""
    assert dict(flight.px4_tuning) == {
        'IMU_GYRO_CUTOFF': 30.0, **{f'MC_{axis}RATE_{gain}': value
                                    for axis in ('PITCH', 'ROLL')
                                    for gain, value in (('D', 0.004), ('I', 0.3), ('P', 0.14))}}
