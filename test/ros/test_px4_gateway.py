# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PX4's own topics in ROS: as bytes, without px4_msgs; and px4_msgs built from definitions."""
import os
import shutil
import subprocess
import sys
import time

import pytest
import rclpy
from rclpy.serialization import deserialize_message
from std_msgs.msg import UInt8MultiArray

from px4_sim_ros.link.xrce.session import Refusal, Service, Topic
from px4_sim_ros.messages.px4_definitions import Px4Definitions
from px4_sim_ros.messages.px4_records import Px4Record
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.polling import PollingNode, taken
from px4_sim_ros.ros.framework.px4_gateway import Px4Gateway
from px4_sim_ros.ros.framework.raw_types import raw_class, raw_service
from px4_sim_ros.ros.tools import build_px4_msgs

OUT = Topic('/fmu/out/wind', 'px4_msgs/msg/Wind')
INTO = Topic('/fmu/in/go_to', 'px4_msgs/msg/GoTo')
GO_TO = ('uint32 MESSAGE_VERSION = 2\nuint64 timestamp # us\nPoint place\n'
         'float32[3] rate\nbool now\n')
PATIENCE_S = 20.0


@pytest.fixture
def messages(tmp_path):
    """Return a folder with definitions as PX4 has them."""
    folder = tmp_path / 'msg'
    (folder / 'versioned').mkdir(parents=True)
    (folder / 'versioned' / 'GoTo.msg').write_text(GO_TO)
    (folder / 'Point.msg').write_text('float64 x\nfloat64 y\n')
    (folder / 'Wind.msg').write_text('uint64 timestamp\nfloat32 north\n# TOPICS wind\n')
    (tmp_path / 'srv').mkdir()
    (tmp_path / 'srv' / 'GoTo.srv').write_text('GoTo request\n---\nuint8 a # so\nPoint at\n')
    return str(folder)


@pytest.fixture
def nodes(ros):
    """Yield a maker of nodes; `ros` is the session of the tests."""
    made = []

    def make(name):
        made.append(PollingNode(name))
        return made[-1]
    yield make
    for node in made:
        node.destroy_node()


@pytest.fixture(scope='module')
def ros():
    rclpy.init()
    yield
    rclpy.shutdown()


def until(found):
    """Wait for what DDS finds out in its own threads; return it."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < deadline_s, 'it has not come'
        time.sleep(0.01)
    return value


def test_a_definition_has_its_parts_and_fields_first(messages):
    definitions = Px4Definitions(messages)
    assert definitions.text(INTO.type) == (
        'uint64 timestamp\nPoint place\nfloat32[3] rate\nbool now\nuint32 MESSAGE_VERSION = 2\n'
        + '=' * 80 + '\nMSG: px4_msgs/Point\nfloat64 x\nfloat64 y\n')
    assert definitions.type_hash(INTO.type).startswith('RIHS01_')
    assert definitions.text('px4_msgs/msg/Other') == definitions.text('x/msg/GoTo') == ''
    with pytest.raises(ParameterError, match="message 'Other': must be one of those in "):
        definitions.lines('Other')


def test_bytes_go_both_ways_and_who_joins_late_gets_the_last(messages, nodes):
    gateway = Px4Gateway(nodes('px4_topics'), Px4Definitions(messages))
    gateway.announce(OUT)
    gateway.publish(OUT, b'\0\1\0\0unheard')
    other = nodes('other')
    kind = raw_class(OUT.type, Px4Definitions(messages).type_hash(OUT.type))
    hears = other.create_polled_subscription(kind, OUT.name, qos.OF_PX4)
    until(lambda: list(gateway.take()) or (
        gateway.is_matched and hears.get_publisher_count()))
    got = []
    until(lambda: list(gateway.take()) or got.extend(taken(hears)) or got)
    assert got == [b'\0\1\0\0unheard']
    gateway.publish(OUT, b'\0\1\0\0second')
    assert until(lambda: list(taken(hears))) == [b'\0\1\0\0second']
    info, = other.get_publishers_info_by_topic(OUT.name)
    assert str(info.topic_type_hash) == Px4Definitions(messages).type_hash(OUT.type)
    assert gateway.missing([INTO.name]) == [INTO.name]
    says = other.create_publisher(raw_class(INTO.type), INTO.name, qos.OF_PX4)
    until(lambda: not gateway.missing([INTO.name]))
    until(says.get_subscription_count)
    says.publish(b'\0\1\0\0data')
    assert until(lambda: list(gateway.take())) == [(INTO.name, b'\0\1\0\0data')]
    assert gateway.publishers(INTO.name) == '/other'
    gateway.close()


def test_a_topic_that_ros_does_not_take_is_refused(messages, nodes):
    gateway = Px4Gateway(nodes('px4_topics'), Px4Definitions(messages))
    gateway.announce(OUT)
    with pytest.raises(Refusal, match=rf'a topic that ROS does not take \({OUT.name}: '):
        gateway.listen(Topic(OUT.name, INTO.type))
    gateway.close()


def test_a_service_of_px4_is_offered_without_its_code(messages, nodes):
    gateway = Px4Gateway(nodes('px4_topics'), Px4Definitions(messages))
    with pytest.raises(Refusal, match=r'no definition is known; set px4_topics\.messages to the'
                       r' folder msg of this PX4 \(/fmu/other\)'):
        gateway.offer(Service('/fmu/other', 'px4_msgs/srv/Other'))
    service = Service('/fmu/go_to', 'px4_msgs/srv/GoTo')
    # The stamp, two coordinates, three rates, a truth value; a byte, and from 8 on two numbers.
    assert Px4Definitions(messages).service_bytes(service.type) == (37, 24)
    gateway.offer(service)
    kind, other = raw_service(service.type, 37, 24), nodes('other')
    client = other.create_client(kind, service.name)
    until(client.service_is_ready)
    request = kind.Request()
    request.data = bytes(range(37))
    answer = client.call_async(request)
    (name, data, header), = until(lambda: list(gateway.requests()))
    assert (name, data) == (service.name, request.data)
    gateway.answer(name, header, b'done')
    rclpy.spin_until_future_complete(other, answer, timeout_sec=PATIENCE_S)
    assert answer.result().data == b'done' + bytes(20)
    gateway.close()


def test_a_node_with_another_definition_is_named_with_both(messages, nodes, monkeypatch):
    monkeypatch.setattr('px4_sim_ros.ros.framework.px4_gateway.REFRESHED_EVERY_S', 0.0)
    gateway = Px4Gateway(nodes('px4_topics'), Px4Definitions(messages))
    said = []
    gateway.on_mismatch = said.append
    gateway.announce(OUT)
    theirs = 'RIHS01_' + 64 * 'a'
    other = nodes('other')
    for type_hash in theirs, Px4Definitions(messages).type_hash(OUT.type):
        other.create_polled_subscription(raw_class(OUT.type, type_hash), OUT.name, qos.OF_PX4)
    until(lambda: list(gateway.take()) or said)
    ours = Px4Definitions(messages).type_hash(OUT.type)
    assert said == [f'/fmu/out/wind: /other has another px4_msgs/msg/Wind than this PX4'
                    f' (RIHS01_aaaaaaaaa, not {ours[:16]}); build its px4_msgs from the messages of'
                    ' this PX4']


def test_a_recorder_in_another_process_gets_them_whole():
    record = Px4Record(12_000, '/fmu/out/wind', 'px4_msgs/msg/Wind', b'\0\1\0\0' + bytes(range(9)))
    data = record.packed()
    assert Px4Record.unpacked(data) == record
    assert len(deserialize_message(data, UInt8MultiArray).data) == len(data) - 16


@pytest.mark.process
@pytest.mark.skipif(shutil.which('c++') is None, reason='there is no C++ compiler')
def test_px4_msgs_is_built_without_colcon(messages, tmp_path, monkeypatch):
    # As in a workspace over the wheels that has a package in Python.
    monkeypatch.setenv('AMENT_PREFIX_PATH', os.pathsep.join(
        filter(None, [str(tmp_path), os.environ.get('AMENT_PREFIX_PATH')])))
    built = tmp_path / 'built'
    build_px4_msgs.build(messages, built, ['GoTo'])
    text = '''
from px4_msgs.msg import GoTo, Point
from px4_msgs.srv import GoTo as Service
from rclpy.serialization import deserialize_message, serialize_message
import rclpy
message = GoTo(timestamp=7, place=Point(x=1.0, y=2.0), rate=[1.0, 2.0, 3.0], now=True)
data = serialize_message(message)
assert deserialize_message(data, GoTo) == message
rclpy.init()
node = rclpy.create_node('who')
publisher = node.create_publisher(GoTo, '/go', 1)
publisher.publish(message)
info, = node.get_publishers_info_by_topic('/go')
node.create_client(Service, '/go_to').call_async(Service.Request(request=message))
print(data.hex(), info.topic_type_hash, GoTo.MESSAGE_VERSION)
'''
    done = subprocess.run(
        [sys.executable, '-c', text], capture_output=True, text=True, timeout=60, env=os.environ | {
            'PYTHONPATH': os.pathsep.join([str(built), os.environ.get('PYTHONPATH', '')])})
    assert done.returncode == 0, done.stderr
    data, type_hash, version = done.stdout.split()
    assert type_hash == Px4Definitions(messages).type_hash(INTO.type) and version == '2'
    assert bytes.fromhex(data)[4:12] == (7).to_bytes(8, 'little')


def test_px4_msgs_whose_build_is_interrupted_leaves_nothing(messages, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(build_px4_msgs, '_run', interrupt)
    folder = tmp_path / 'new'
    with pytest.raises(KeyboardInterrupt):
        build_px4_msgs.build(messages, folder / 'built', ['GoTo'])
    assert not list(folder.iterdir())


def test_a_message_that_is_not_there_is_one_sentence(messages, tmp_path):
    with pytest.raises(ParameterError, match="message 'Nothing': must be one of those in "):
        build_px4_msgs.build(messages, tmp_path / 'built', ['Nothing'])
