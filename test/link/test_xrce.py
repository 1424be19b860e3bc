# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The agent's side of PX4's uXRCE-DDS client: sessions, topics, streams, refusals, a fuzzer."""
import contextlib
import random
import socket
import struct

import pytest
import xrce_client as x

from px4_sim_ros.link.ports import PortTakenError
from px4_sim_ros.link.xrce.agent import Agent
from px4_sim_ros.link.xrce.session import Service, Topic

pytestmark = pytest.mark.unit
STATUS_AGENT, STATUS, INFO, DATA, ACKNACK, TIMESTAMP_REPLY = 4, 5, 6, 9, 10, 15
OK = b'\0\0'
OUT = 'rt/fmu/out/vehicle_status_v1', 'px4_msgs::msg::dds_::VehicleStatus_'
INTO = 'rt/fmu/in/trajectory_setpoint', 'px4_msgs::msg::dds_::TrajectorySetpoint_'
STATUS_TOPIC = Topic('/fmu/out/vehicle_status_v1', 'px4_msgs/msg/VehicleStatus')


def free_port():
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as found:
        found.bind(('127.0.0.1', 0))
        return found.getsockname()[1]


@pytest.fixture
def agent():
    """Yield an agent of the instances 0 and 1, and what it has told."""
    made = Agent(free_port())
    made.said = []
    made.on_refusal = made.said.append
    made.expect(0)
    made.expect(1)
    yield made
    made.close()


@pytest.fixture
def client(agent):
    """Yield a client that has a session."""
    with contextlib.closing(x.Client(agent.port)) as found:
        found.connect()
        agent.take(0)
        assert [kind for kind, _ in found.received()] == [STATUS_AGENT]
        yield found


def statuses(client):
    """Return the results of all requests that were answered, without their number and object."""
    return [payload[4:] for kind, payload in client.received() if kind == STATUS]


def test_a_ping_says_whether_the_session_is_known(agent):
    with contextlib.closing(x.Client(agent.port)) as client:
        client.send(x.ping())
        agent.take(0)
        (kind, payload), = client.received()
        assert kind == INFO and payload[:4] == b'\x00\x08\xff\xfd'
        status, is_known, has_config, has_activity, what, available, addresses = struct.unpack_from(
            '<BBBBBxhI', payload, 4)
        assert (status, is_known, has_config, has_activity) == (0, 0, 0, 1)
        assert (what, available, addresses) == (0x0D, 1, 0)
        client.connect()
        client.send(x.ping(session=0x81))
        agent.take(0)
        (created, said), (_, payload) = client.received()
        assert (created, said) == (STATUS_AGENT, b'\0\0XRCE\x01\0\x01\x0f\0')
        assert payload[5] == 1


def test_topics_have_the_names_and_types_of_ros_and_messages_their_bytes(agent, client):
    client.create_writer(5, *OUT)
    client.create_writer(6, 'rt/px4_1/fmu/out/wind', 'px4_msgs::msg::dds_::Wind_')
    client.write(5, b'12345')
    messages = agent.take(0)
    assert statuses(client) == [OK] * 6
    assert [(m.topic, m.data) for m in messages] == [(STATUS_TOPIC, b'12345')]
    assert Topic('/px4_1/fmu/out/wind', 'px4_msgs/msg/Wind') in (
        agent.session(0).out.values())
    assert agent.take(0) == [] and not agent.said


def test_a_topic_has_one_type(agent, client):
    client.create_writer(5, *OUT)
    client.create_reader(6, OUT[0], INTO[1])
    agent.take(0)
    assert agent.said[0] == (f'UDP port {agent.port}: CREATE of a topic that has another type'
                             f' ({STATUS_TOPIC.name}): not taken')
    assert not agent.session(0).into


def test_px4_gets_what_it_asks_for_and_nothing_else(agent, client):
    client.create_reader(0x800, *INTO)
    agent.take(0)
    client.received()
    name = '/fmu/in/trajectory_setpoint'
    for data in (b'first', b'second'):
        agent.send(0, agent.session(0).data(name, data))
    requests = [payload for kind, payload in client.received() if kind == DATA]
    assert [payload[4:] for payload in requests] == [b'first', b'second']
    assert {payload[2:4] for payload in requests} == {x.object_id(0x800, x.READER)}
    assert agent.session(0).data('/fmu/in/other', b'x') == b''


def test_a_service_has_its_own_numbering_and_is_repeated_until_it_is_confirmed(agent, client):
    client.create_replier(0x800, 'fmu/vehicle_command', 'VehicleCommand')
    agent.take(0)
    session = agent.session(0)
    service = Service('/fmu/vehicle_command', 'px4_msgs/srv/VehicleCommand')
    assert session.services == {service.name: service}
    first = session.request(service.name, b'who', b'what')
    assert first[1] == x.RELIABLE and first[8:12] == b'\x00\x0c' + x.object_id(0x800, x.REPLIER)
    assert first[12:] == b'who'.ljust(24, b'\0') + b'what'
    client.received()
    client.send(x.datagram(x.submessage(10, struct.pack('<HBBB', 0, 0, 1, x.RELIABLE))))
    agent.take(0)
    assert client.received() == [(DATA, first[8:])], 'it is sent again'
    client.send(x.datagram(x.submessage(10, struct.pack('<HBBB', 1, 0, 1, x.RELIABLE))))
    agent.take(0)
    assert client.received() == []
    client.answer(0x800, b'who'.ljust(24, b'\0'), b'done')
    answer, = agent.take(0)
    assert (answer.topic, answer.data, answer.identity[:3]) == (service, b'done', b'who')


def test_what_comes_out_of_order_is_asked_for_again(agent, client):
    client.reliable = 1
    client.create_writer(5, *OUT)                       # number 1, before number 0
    agent.take(0)
    assert client.received() == [(ACKNACK, struct.pack('<HBBB', 0, 0, 1, x.RELIABLE))]
    client.send(x.datagram(x.submessage(11, struct.pack('<HHB', 0, 1, x.RELIABLE))))
    agent.take(0)
    assert client.received() == [(ACKNACK, struct.pack('<HBBB', 0, 0, 1, x.RELIABLE))]
    client.reliable = 0
    client.create_writer(5, *OUT)
    agent.take(0)
    assert client.received()[-1] == (ACKNACK, struct.pack('<HBBB', 1, 0, 0, x.RELIABLE))
    assert list(agent.session(0).out.values()) == [STATUS_TOPIC]


def test_fragments_are_put_together(agent, client):
    whole = x.create(20, 5, x.TOPIC, x.topic_form(*OUT)) + x.create(
        21, 5, x.WRITER, x.object_id(5, x.TOPIC) + b'\0')
    parts = [whole[i:i + 40] for i in range(0, len(whole), 40)]
    for part in parts[:-1]:
        client.send_reliable(x.submessage(13, part))
        agent.take(0)
        assert not agent.session(0).out
    client.send_reliable(x.submessage(13, parts[-1], flags=3))
    agent.take(0)
    assert list(agent.session(0).out.values()) == [STATUS_TOPIC]
    for _ in range(64):
        client.send_reliable(x.submessage(13, b'1234'))
    agent.take(0)
    assert agent.said == [
        f'UDP port {agent.port}: a message of more than 64 fragments: not taken']


def test_the_offset_of_time_is_zero(agent, client):
    now = struct.pack('<iI', 12, 345)
    client.send(x.datagram(x.submessage(14, now)))
    agent.take(0)
    assert client.received() == [(TIMESTAMP_REPLY, now * 3)]


def test_two_clients_share_a_port_and_one_that_connects_anew_begins_anew(agent, client):
    with contextlib.closing(x.Client(agent.port, key=2)) as other:
        other.connect()
        for its in client, other:
            its.create_writer(5, *OUT)
            its.write(5, bytes([its.key]))
        assert [m.data for m in agent.take(0)] == [b'\x01']
        assert [m.data for m in agent.take(1)] == [b'\x02']
        with contextlib.closing(x.Client(agent.port)) as again:
            again.connect()
            agent.take(0)
            assert not agent.session(0).out
            client.write(5, b'old')
            assert agent.take(0) == [], 'it is of the session before'
            client.send(x.ping(session=0x81))
            client.received()
            agent.take(0)
            assert client.received()[0][1][5] == 0, 'it learns that its session is over'
        agent.expect(1)
        other.write(5, b'old')
        assert agent.take(1) == []
    assert not agent.said


def test_a_client_that_leaves_is_answered(agent, client):
    client.create_reader(0x800, *INTO)
    client.send(x.datagram(x.submessage(3, b'\x00\x02\xff\xfe')))
    agent.take(0)
    assert client.received()[-1] == (STATUS, b'\x00\x02\xff\xfe\0\0')
    assert agent.session(0).data('/fmu/in/trajectory_setpoint', b'x') == b''


@pytest.mark.parametrize('parts, sentence', [
    (x.create(20, 5, x.REQUESTER, b'\0' * 8),
     'CREATE of an object that PX4 does not have (REQUESTER)'),
    (x.create(20, 5, 77, b'\0' * 8), 'CREATE of an object that PX4 does not have (kind 77)'),
    (x.create(20, 5, x.TOPIC, x.topic_form(f'rt/{201 * "x"}', OUT[1])),
     f'CREATE of a topic that is none of ROS (rt/{77 * "x"})'),
    (x.create(20, 5, x.TOPIC, x.topic_form('nonsense', OUT[1])),
     'CREATE of a topic that is none of ROS (nonsense)'),
    (x.create(20, 5, x.TOPIC, x.topic_form(OUT[0], 'x::y')),
     'CREATE of a type that is none of ROS (x::y)'),
    (x.create(20, 7, x.WRITER, x.object_id(7, x.TOPIC) + b'\0'),
     'CREATE of a data writer or reader of a topic that was not created'),
    (x.submessage(8, b'\x00\x10' + x.object_id(9, x.READER) + bytes(4)),
     'READ_DATA of a data reader that was not created'),
    (x.submessage(7, b'\x00\x10' + x.object_id(9, x.WRITER)),
     'WRITE_DATA of a data writer that was not created'),
    (x.submessage(7, b'\x00\x10\x00\x55', flags=9), 'WRITE_DATA in another format than DATA'),
    (x.submessage(12, b''), 'a submessage that PX4 does not send (RESET)'),
    (b'\x4d\x01\xff\x00', 'a submessage that PX4 does not send (kind 77)'),
    (x.submessage(3, b'\0\0'), 'DELETE that is too short'),
    (x.submessage(14, bytes(8), flags=0), 'TIMESTAMP in big endian'),
    (b'\x07\x01\xff\x00', 'WRITE_DATA that is cut off')])
def test_what_px4_does_not_send_is_named_once(agent, client, parts, sentence):
    for _ in range(3):
        client.send_reliable(parts)
    agent.take(0)
    assert agent.said == [f'UDP port {agent.port}: {sentence}: not taken']
    assert list(agent.refused.values()) == [3]
    client.create_writer(5, *OUT)
    agent.take(0)
    assert list(agent.session(0).out.values()) == [STATUS_TOPIC], 'it continues'


@pytest.mark.parametrize('data, sentence', [
    (b'', 'a datagram that is too short'),
    (x.create_client(7), 'the client of a PX4 whose instance is none of this port (6, not 0, 1)'),
    (x.create_client(1, version=b'\x02\x00'),
     'CREATE_CLIENT of another version of DDS-XRCE (2.0)'),
    (x.create_client(1, cookie=b'NONE'), 'CREATE_CLIENT that is no such'),
    (x.datagram(x.submessage(2, bytes(8)), session=0x01),
     'a session with the key of the client in each header')])
def test_a_client_that_is_none_is_named_once(agent, data, sentence):
    with contextlib.closing(x.Client(agent.port)) as client:
        client.send(data)
        client.send(data)
        agent.take(0)
        assert client.received() == []
    assert agent.said == [f'UDP port {agent.port}: {sentence}: not taken']


def test_a_second_agent_on_the_port_is_one_sentence(agent):
    with pytest.raises(PortTakenError, match=rf'UDP port {agent.port} is taken by .*; stop it or'
                       ' choose another instance'):
        Agent(agent.port)


def test_a_message_that_px4_could_not_take_is_named(agent, client):
    from px4_sim_ros.link.xrce.session import Refusal
    client.create_reader(0x800, *INTO)
    agent.take(0)
    with pytest.raises(Refusal, match=r'trajectory_setpoint that is longer than PX4 takes at once'
                       r' \(600 bytes\)'):
        agent.session(0).data('/fmu/in/trajectory_setpoint', bytes(600))


@pytest.mark.parametrize('seed', [1, 2])
def test_ten_thousand_mutated_datagrams_change_nothing_and_are_named_once_each(
        agent, client, seed):
    said = random.Random(seed)
    client.create_writer(5, *OUT)
    client.create_reader(0x800, *INTO)
    agent.take(0)
    good = [x.create_client(2), x.ping(), x.ping(0x81),
            *(x.datagram(part, stream, number) for number, (stream, part) in enumerate((
                (x.RELIABLE, x.create(20, 6, x.TOPIC, x.topic_form(*OUT))),
                (x.RELIABLE, x.create(21, 6, x.WRITER, x.object_id(6, x.TOPIC) + b'\0')),
                (x.BEST_EFFORT, x.submessage(7, b'\0\x10' + x.object_id(5, x.WRITER) + bytes(40))),
                (x.RELIABLE, x.submessage(8, b'\0\x11' + x.object_id(0x800, x.READER) + bytes(12))),
                (x.NONE, x.submessage(10, bytes(5))), (x.NONE, x.submessage(11, bytes(5))),
                (x.NONE, x.submessage(14, bytes(8))), (x.RELIABLE, x.submessage(13, bytes(30))))))]
    for i in range(10_000):
        data = bytearray(said.choice(good))
        for _ in range(said.randint(1, 4)):
            how = said.randrange(3)
            if how == 0 and data:
                data[said.randrange(len(data))] = said.randrange(256)
            elif how == 1:
                del data[said.randrange(len(data) + 1):]
            else:
                at = said.randrange(len(data) + 1)
                data[at:at] = said.randbytes(said.randint(1, 8))
        client.send(data)
        if i % 100 == 0:
            agent.take(0)
    agent.take(0)
    assert 10 < len(agent.said) == len(agent.refused) < 50, 'each kind is reported once'
    assert max(map(len, agent.said)) < 300
    client.received()
    again = x.Client(agent.port)
    with contextlib.closing(again):
        again.connect()
        again.create_writer(5, *OUT)
        again.write(5, b'12345')
        assert [(m.topic, m.data) for m in agent.take(0)] == [(STATUS_TOPIC, b'12345')]
