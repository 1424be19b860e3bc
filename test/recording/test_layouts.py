# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The layouts for Foxglove and PlotJuggler name what recordings contain."""
import itertools
import json
import math
import pathlib
import re
import subprocess
from xml.etree import ElementTree

import numpy
import pytest
from report_flights import fly

from px4_sim_ros.recording.analysis.attitudes import roll_pitch_yaw_deg
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.recording.bag.reader import BagReader
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.step import graph, side_topics

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs/recording.md').read_text(encoding='utf-8')
FOXGLOVE = json.loads((ROOT / 'config/foxglove_layout.json').read_text(encoding='utf-8'))
PLOTJUGGLER = ElementTree.parse(ROOT / 'config/plotjuggler_layout.xml').getroot()

# What the node `visualizer` publishes; it is not recorded.
VISUAL = {'visual/markers': 'visualization_msgs/msg/MarkerArray',
          'visual/path': 'nav_msgs/msg/Path'}

# By the names that they have without a namespace.
TYPES = {'/' + name.removeprefix('/'): type_name for name, type_name in itertools.chain(
    ((topic.name, topic.type) for topic in graph.TOPICS.values()),
    ((topic.name, topic.type) for topic in side_topics.RECORDED.values()),
    VISUAL.items())}

ABSOLUTE = {name for name in (*graph.TOPICS, *side_topics.RECORDED) if name.startswith('/')}

# A path such as `/topic.field.list[0].inner` or `/topic.list[:]{name=="x"}.value.@derivative`.
PATH = re.compile(r'(?P<topic>/[\w/]+)(?P<fields>(?:\.\w+(?:\[(?:\d+|:)\](?:\{\w+=="[^"]*"\})?)?)*)'
                  r'(?P<function>\.@derivative)?')
FIELD = re.compile(r'\.(\w+)(?:\[(\d+|:)\](?:\{(\w+)=="[^"]*"\})?)?')
LIST = re.compile(r'(?:sequence<([\w/]+)>|([\w/]+)\[(\d+)\])')
NUMBERS = {'double', 'float', 'boolean', 'octet', *(
    f'{sign}int{bits}' for sign in ('', 'u') for bits in (8, 16, 32, 64))}


def panel_configurations(kind):
    return [config for key, config in FOXGLOVE['configById'].items()
            if key.partition('!')[0] == kind]


def series_of(kind):
    """Return all curves of the panels of a kind."""
    return [series for config in panel_configurations(kind) for series in config['paths']]


def fields_of(type_name):
    """Return the fields of `package/Name`, or of `package/msg/Name`, with their types."""
    package, _, name = type_name.partition('/')
    return message_class(
        f'{package}/msg/{name.removeprefix("msg/")}').get_fields_and_field_types()


def type_of(path, rotors=0):
    """Return the type of what a message path leads to.

    :param rotors: how long lists without a fixed length are
    """
    match = PATH.fullmatch(path)
    assert match, path
    kind = TYPES[match['topic']]
    for name, index, condition in FIELD.findall(match['fields']):
        kind = fields_of(kind)[name]
        if index:
            is_list = LIST.fullmatch(kind)
            assert is_list, f'{path}: {name} is a {kind}'
            kind = is_list[1] or is_list[2]
            assert index == ':' or int(index) < int(is_list[3] or rotors), path
        assert not condition or fields_of(kind)[condition] == 'string', path
    return kind


def texts_in(value):
    """Return all keys and texts in a value of JSON."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *texts_in(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    return [value] if isinstance(value, str) else []


@pytest.fixture(scope='module')
def rotors():
    return len(load_configuration(None, {}).vehicle.rotors)


@pytest.mark.parametrize('series', series_of('Plot'), ids=lambda series: series['value'])
def test_plots_show_numbers(series, rotors):
    kind = type_of(series['value'], rotors)
    # Values of diagnostics are numbers as texts; the viewer converts them.
    assert kind in NUMBERS or (kind == 'string' and series['value'].endswith('.value'))


@pytest.mark.parametrize(
    'series', series_of('StateTransitions'), ids=lambda series: series['value'])
def test_states_are_texts(series):
    assert type_of(series['value']) == 'string'


def test_all_rotors_are_shown(rotors):
    values = {series['value'] for series in series_of('Plot')}
    for topic in ('/joint_states', '/actuators/command'):
        assert {f'{topic}.velocity[{i}]' for i in range(rotors)} <= values


def test_the_other_panels_show_topics_of_their_types():
    log, = panel_configurations('RosOut')
    assert TYPES[log['topicToRender']] == 'rcl_interfaces/msg/Log'
    nodes, = panel_configurations('DiagnosticSummary')
    assert TYPES[nodes['topicToRender']] == 'diagnostic_msgs/msg/DiagnosticArray'
    for raw in panel_configurations('RawMessages'):
        type_of(raw['topicPath'])


def test_the_scene_has_the_pose_and_what_the_visualizer_shows():
    scene, = panel_configurations('3D')
    assert set(scene['topics']) == {'/ground_truth/pose', *('/' + name for name in VISUAL)}
    assert all(settings['visible'] for settings in scene['topics'].values())


def curves():
    return list(PLOTJUGGLER.iter('curve'))


def numbers(kind, value, name):
    """Yield the series that PlotJuggler makes of a value, and their numbers.

    Fields are separated by slashes. Quaternions have angles as well, in all messages that we
    record. Covariances are left out: they are named in another way, and no layout shows them.
    """
    match = LIST.fullmatch(kind)
    if match:
        for index, item in enumerate(value if 'covariance' not in name else ()):
            yield from numbers(match[1] or match[2], item, f'{name}[{index}]')
    elif kind in NUMBERS:
        yield name, float(value)
    elif kind != 'string':
        for field, inner in fields_of(kind).items():
            yield from numbers(inner, getattr(value, field), f'{name}/{field}')
        if kind == 'geometry_msgs/Quaternion':
            angles = roll_pitch_yaw_deg(
                numpy.array([[value.w, value.x, value.y, value.z]])).flat
            for angle, angle_deg in zip(('roll', 'pitch', 'yaw'), angles):
                yield f'{name}/{angle}', math.radians(angle_deg)


def series_in(topic, type_name, message):
    """Yield the series that PlotJuggler makes of a message, and their numbers.

    As ParserROS of PlotJuggler 3.17.1 does it. The values in JointState have the names that are
    in it. Those in DiagnosticArray, too; no layout shows them.
    """
    if type_name == 'sensor_msgs/msg/JointState':
        for field in ('position', 'velocity', 'effort'):
            for name, value in zip(message.name, getattr(message, field)):
                yield f'{topic}/{name}/{field}', float(value)
    elif type_name != 'diagnostic_msgs/msg/DiagnosticArray':
        yield from numbers(type_name, message, topic)


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """Return the configuration of a short flight and the last number of each of its series."""
    folder = tmp_path_factory.mktemp('layouts') / 'climb'
    configuration, _ = fly(folder, 0.4, {'': {'wind': 'constant'}})
    bag = BagReader(folder)
    last = {message.topic: message for message in bag.messages()}
    series = {}
    for topic, message in last.items():
        series |= series_in(bag.run.full_name(topic), schema.topic_type(bag.run.graph, topic),
                            bag.decode(message))
    return configuration, series


@pytest.mark.parametrize('name', sorted({curve.get('name') for curve in curves()}))
def test_curves_are_in_a_recording(name, recorded):
    assert math.isfinite(recorded[1][name])


def test_the_height_of_the_gnss_begins_at_home(recorded):
    configuration, series = recorded
    options, = [curve.find('transform/options') for curve in curves()
                if curve.get('name') == '/gps/fix/altitude']
    offset_m = float(options.get('value_offset'))
    world = configuration.world
    assert offset_m == pytest.approx(-world.home_altitude_m - world.geoid_height_m)
    assert series['/gps/fix/altitude'] + offset_m == pytest.approx(
        series['/ground_truth/odom/pose/pose/position/z'], abs=4.0)


def test_time_is_as_it_was_recorded():
    assert PLOTJUGGLER.find('use_relative_time_offset').get('enabled') == '0'


@pytest.mark.slow
def test_layouts_for_a_namespace_are_made_as_the_page_says(tmp_path):
    commands, = re.findall(r'```sh\n( *sed .*?)```', PAGE, re.S)
    (tmp_path / 'config').symlink_to(ROOT / 'config')
    subprocess.run(['sh', '-ec', commands], cwd=tmp_path, check=True)
    before, after = texts_in(FOXGLOVE), texts_in(json.loads((tmp_path / 'uav1.json').read_text()))
    topics = [(old, new) for old, new in zip(before, after) if old.startswith('/')]
    assert len(topics) > len(TYPES)
    for old, new in topics:
        if PATH.fullmatch(old)['topic'] in ABSOLUTE:
            assert new == old.replace('"/manager"', '"/uav1/manager"')
        else:
            assert new == '/uav1' + old
    names = [curve.get('name') for curve in ElementTree.parse(tmp_path / 'uav1.xml').iter('curve')]
    assert names == ['/uav1' + curve.get('name') for curve in curves()]
