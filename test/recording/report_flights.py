# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recorded flights for the tests of the report: the real models, without an autopilot."""
import base64
import contextlib
import dataclasses
import gzip
import html.parser
import itertools
import json
import math
import typing

import numpy as np
from bags import begin_bag, trimmed, write_all
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import Log
from rclpy.serialization import serialize_message
from scripted_flight import fly_scripted
from std_msgs.msg import Header, String

from px4_sim_ros.flight.core_recorder import CoreRecorder
from px4_sim_ros.messages.stamps import set_stamp
from px4_sim_ros.recording.bag.reader import BagReader, Message
from px4_sim_ros.recording.bag.run_description import RunDescription
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import Files
from px4_sim_ros.step import graph, side_topics

# All rotors; the Iris climbs with it.
CLIMB_RAD_S = 850.0


class Step(typing.NamedTuple):
    """What the models have put out at one time."""

    truth: typing.Any
    measurements: dict[str, typing.Any]      # by sensor


def fly(folder, duration_s, overrides=None, say=lambda listener, steps: None):
    """Record a climb; return its configuration and the steps, as the models made them.

    :param say: is told before each step who listens to an autopilot, and how many are complete
    """
    configuration = load_configuration(
        None, {'recorder': {'folder': str(folder)}} | (overrides or {}) | {
            '': {'recorder': True} | (overrides or {}).get('', {})})
    run = dataclasses.replace(
        RunDescription.of(configuration, mode='core', autopilot='none'),
        mission=Files().text('missions', 'square'))
    references = (CLIMB_RAD_S,) * len(configuration.vehicle.rotors)
    commands = [references] * round(duration_s * 1e6 / configuration.world.step_us)
    found = []
    with contextlib.closing(CoreRecorder(configuration, run)) as recorder:
        def send(outputs):
            found.extend(outputs)
            recorder.send(outputs)
        recorder.add_side('hil/state', 'LOCKED')
        listener = recorder.telemetry('')
        fly_scripted(configuration, commands, send, lambda slots, steps: say(listener, steps))
    return configuration, steps_of(found, configuration.graph.sensors)


def steps_of(outputs, sensors):
    """Return the outputs of blocks by step."""
    steps = []
    for output in outputs:
        if output.block == 'dynamics':
            steps.append(Step(output.values['ground_truth/odom'], {}))
        elif output.block in sensors and output.block != 'wind':
            steps[-1].measurements[output.block], *_ = output.values.values()
    return steps


def rewritten(source, folder, keep=lambda message: True, added=(), run=None):
    """Write a bag again, without some messages and with others; return its reader."""
    bag = BagReader(source)
    messages = [message for message in bag.messages() if keep(message)] + list(added)
    writer = begin_bag(folder, run or bag.run)
    write_all(writer, sorted(messages, key=lambda message: message.time_us))
    writer.close()
    return BagReader(folder)


def _side_message(topic, time_us, message):
    type_name = side_topics.RECORDED[topic].type
    return Message(topic, time_us, trimmed(serialize_message(message), type_name))


def log_message(time_us, name, text, level=20):
    return _side_message('/rosout', time_us, Log(level=level, name=name, msg=text))


def link_state(time_us, state):
    return _side_message('hil/state', time_us, String(data=state))


def no_measurement(time_us, sensor):
    header = Header(frame_id=sensor)
    set_stamp(header.stamp, time_us)
    return _side_message(graph.ABSENCE, time_us, header)


def diagnostics(time_us, node, values, level=0, sentence=''):
    message = DiagnosticArray(status=[DiagnosticStatus(
        level=bytes([level]), name=f'/{node}', message=sentence,
        values=[KeyValue(key=k, value=str(v)) for k, v in values.items()])])
    set_stamp(message.header.stamp, time_us)
    return _side_message('/diagnostics', time_us, message)


def unpacked(text):
    """Return what a text in a page holds: gzip, seven bits a character."""
    codes = [{0xc0: 0, 0xc1: 13, 0xc2: 60}.get(ord(c), ord(c)) for c in text]
    bits = ''.join(f'{code:07b}' for code in codes)
    return gzip.decompress(int(bits[:len(bits) // 8 * 8], 2).to_bytes(len(bits) // 8, 'big'))


def numbers(content, place):
    """Return the numbers of a line: levels, as differences from one to the next."""
    at, count, size = (place[key] for key in ('at', 'count', 'size'))
    planes = [content[at + k * count:at + (k + 1) * count] for k in range(size)]
    levels = itertools.accumulate(int.from_bytes(its, 'little') for its in zip(*planes))
    none = 256 ** size - 1
    return [math.nan if level % (none + 1) == none else
            place['least'] + place['step'] * (level % (none + 1)) for level in levels]


def numbers_of(values):
    """Return the numbers of an axis of a trace, of whatever kind it is."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values['bdata']), f"<{values['dtype']}").tolist()
    return values


class Page(html.parser.HTMLParser):
    """What is on a page: references, the anchors of sections, rows of tables, and figures."""

    def __init__(self, text):
        super().__init__()
        self.references, self.sections, self.rows, self.figures, self.tags = [], [], [], [], []
        self.styles = ''
        self._inside = ''
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        """Take in the beginning of an element."""
        values = dict(attributes)
        self.tags.append(tag)
        self.references += [value for key, value in attributes if key in (
            'src', 'href', 'srcset', 'data', 'poster', 'action', 'background')]
        if tag == 'section':
            self.sections.append(values['id'])
        elif tag == 'tr':
            self.rows.append([])
        elif tag in ('td', 'th'):
            self.rows[-1].append('')
        self._inside = values.get('id') if tag == 'script' else tag

    def handle_endtag(self, tag):
        """Take in the end of an element."""
        self._inside = 'td' if tag == 'span' else ''

    def handle_data(self, data):
        """Take in a text."""
        if self._inside == 'figures':
            self.figures += json.loads(unpacked(data))
        elif self._inside == 'numbers':
            content = unpacked(data)
            for trace in (trace for figure in self.figures for trace in figure['data']):
                trace |= {axis: numbers(content, value) for axis, value in trace.items()
                          if isinstance(value, dict) and 'least' in value}
        elif self._inside == 'style':
            self.styles += data
        elif self._inside in ('td', 'th', 'span') and self.rows:
            self.rows[-1][-1] += data

    def fact(self, name):
        """Return the value after a name in a table."""
        return next(row[1] for row in self.rows if len(row) == 2 and row[0] == name)

    def time_figures(self):
        """Return the figures over time."""
        return [f for f in self.figures if 'simulated time' in json.dumps(f['layout'])]
