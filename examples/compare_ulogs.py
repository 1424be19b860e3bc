# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Compares the logs of two flights of PX4, topic by topic and sample by sample.

`python examples/compare_ulogs.py one.ulg other.ulg` names the topics that differ and their fields.
The exit code is 1 if one of them is none of those that depend on the wall clock.
"""
import sys

# docs/journal/repeatable.md has the reason of each.
MAY_DIFFER = {
    'cpuload', 'event', 'logger_status', 'parameter_update', 'telemetry_status', 'vehicle_command',
    'vehicle_command_ack', 'vehicle_status'}


def topics(path):
    """Return all samples of a log: arrays by the name of a field, by name and number of a topic."""
    # A package of requirements-real.txt, for which ROS has no key.
    from pyulog import ULog
    return {(data.name, data.multi_id): data.data for data in ULog(str(path)).data_list}


def differences(one, other):
    """Return the differences between two logs, and how many topics are in both.

    What differs are names of fields, or a sentence in their place, by the name of a topic.
    """
    found = {}
    mine, yours = topics(one), topics(other)
    for topic in sorted(mine.keys() | yours.keys()):
        if topic not in mine or topic not in yours:
            differing = ['only one has it']
        elif len(mine[topic]['timestamp']) != len(yours[topic]['timestamp']):
            differing = ['the number of samples']
        else:
            # Bit by bit: a value that is not a number is equal to itself.
            differing = [field for field, values in mine[topic].items()
                         if values.tobytes() != yours[topic][field].tobytes()]
        if differing:
            found.setdefault(topic[0], []).extend(differing)
    return found, len(mine.keys() & yours.keys())


def main(one, other):
    """Print what differs; return the exit code."""
    found, both = differences(one, other)
    for topic, fields in found.items():
        note = '' if topic in MAY_DIFFER else ', which should not differ'
        print(f"{topic}: {', '.join(dict.fromkeys(fields))}{note}")
    print(f'{both} topics are in both logs; {len(found)} differ')
    return int(not found.keys() <= MAY_DIFFER)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
