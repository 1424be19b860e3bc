# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads a recording into pandas: the height by the barometer and by GNSS, beside the truth.

`python examples/recording_to_pandas.py flights/first` prints both errors. Other topics are read the
same way; docs/reference.md lists them with their types.
"""
import math
import pathlib
import sys

import pandas
from rosbags.highlevel import AnyReader


def table(bag, topic, read):
    """Return a DataFrame of a topic: a row a message, with its simulated time in s as index.

    :param read: returns from a message what is wanted of it, by name of the column
    """
    with AnyReader([pathlib.Path(bag)]) as reader:
        connections = [c for c in reader.connections if c.topic == topic]
        rows = {time_ns * 1e-9: read(reader.deserialize(data, connection.msgtype))
                for connection, time_ns, data in reader.messages(connections)}
    return pandas.DataFrame.from_dict(rows, orient='index').rename_axis('time_s')


def heights(bag):
    """Return height above the start in m: true, by the barometer, by GNSS."""
    truth = table(bag, '/ground_truth/odom', lambda m: {'true_m': m.pose.pose.position.z})
    baro = table(bag, '/baro', lambda m: {'pressure_pa': m.fluid_pressure})
    gnss = table(bag, '/gps/fix', lambda m: {'altitude_m': m.altitude})
    # A measurement has the stamp of the truth that it was made from, so they join exactly.
    joined = truth.join(baro).join(gnss)
    start = joined.loc[:2.0].mean()
    pressure_ratio = joined['pressure_pa'] / start['pressure_pa']
    return pandas.DataFrame({
        'true_m': joined['true_m'] - start['true_m'],
        # Near the start: the scale height of air, R T / g, at 285 K is 8.34 km.
        'baro_m': -8340.0 * pressure_ratio.map(math.log),
        'gnss_m': joined['altitude_m'] - start['altitude_m']})


if __name__ == '__main__':
    found = heights(sys.argv[1])
    errors = found[['baro_m', 'gnss_m']].sub(found['true_m'], axis=0)
    print(errors.describe().loc[['count', 'mean', 'std', 'min', 'max']].round(3))
