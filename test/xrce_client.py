# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What PX4's uXRCE-DDS client sends, written from the protocol: for tests of the agent."""
import socket
import struct

NONE, BEST_EFFORT, RELIABLE = 0, 1, 0x80
TOPIC, PUBLISHER, SUBSCRIBER, WRITER, READER, REQUESTER, REPLIER = 2, 3, 4, 5, 6, 7, 8


def submessage(kind, payload, flags=1):
    """Return a submessage, filled up to a multiple of four bytes."""
    return struct.pack('<BBH', kind, flags, len(payload)) + payload + bytes(-len(payload) % 4)


def datagram(parts, stream=NONE, number=0, session=0x81):
    """Return a datagram of submessages."""
    return struct.pack('<BBH', session, stream, number & 0xffff) + parts


def create_client(key=1, version=b'\x01\x00', session=0x81, cookie=b'XRCE'):
    """Return the datagram that asks for a session."""
    return datagram(submessage(0, cookie + version + b'\x01\x0f' + key.to_bytes(4, 'big') + bytes(
        [session, 0]) + struct.pack('<H', 512)), session=session & 0x80)


def ping(session=0x80):
    """Return the datagram that asks whether there is an agent."""
    return datagram(submessage(2, b'\x00\x08\xff\xfd' + struct.pack('<I', 2)), session=session)


def text(value):
    """Return a text as CDR has it."""
    data = value.encode() + b'\0'
    return struct.pack('<I', len(data)) + data


def aligned(data, more):
    """Return data with more behind it that begins at a multiple of four bytes."""
    return data + bytes(-len(data) % 4) + more


def object_id(number, kind):
    """Return the id of an object."""
    return (number << 4 | kind).to_bytes(2, 'big')


def topic_form(name, type_name):
    """Return the form of a topic: name, no reference, type."""
    return aligned(text(name) + b'\0\x01', text(type_name))


def create(request, number, kind, form, owner=b'\x00\x11'):
    """Return the submessage that creates an object."""
    return submessage(1, struct.pack('>H', request) + object_id(number, kind) + bytes(
        [kind, 3, 0, 0]) + struct.pack('<I', len(form)) + form + owner)


class Client:
    """A client with a socket, and a sequence number of each stream."""

    def __init__(self, port, key=1):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.socket.connect(('127.0.0.1', port))
        self.socket.settimeout(2.0)
        self.key, self.reliable, self.best_effort, self.request = key, 0, 0, 10

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.send(data)

    def send_reliable(self, parts):
        self.send(datagram(parts, RELIABLE, self.reliable))
        self.reliable += 1

    def received(self):
        """Return the submessages that have come: kind and payload."""
        found = []
        self.socket.setblocking(False)
        while True:
            try:
                data = self.socket.recv(65536)
            except BlockingIOError:
                return found
            kind, _, length = struct.unpack_from('<BBH', data, 4)
            found.append((kind, data[8:8 + length]))

    def connect(self):
        self.send(create_client(self.key))

    def create_writer(self, number, name, type_name):
        self._create(number, name, type_name, WRITER)

    def create_reader(self, number, name, type_name):
        """Create a data reader, and ask for its data on the best-effort stream."""
        self._create(number, name, type_name, READER)
        self.request += 1
        self.send_reliable(submessage(8, struct.pack('>H', self.request) + object_id(
            number, READER) + bytes([BEST_EFFORT, 0, 0, 1]) + struct.pack('<4H', 0xffff, 0, 0, 0)))

    def create_replier(self, number, name, kind):
        """Offer a service, and ask for its requests on the reliable stream."""
        form = text(name.rpartition('/')[2])
        for part in 'Request', 'Response':
            form = aligned(form, text(f'px4_msgs::srv::dds_::{kind}_{part}_'))
        for topic in f'rq/{name}Request', f'rr/{name}Reply':
            form = aligned(form + b'\x01', text(topic))
        self.send_reliable(create(11, number, REPLIER, form))
        self.send_reliable(submessage(8, b'\x00\x0c' + object_id(number, REPLIER) + bytes(
            [RELIABLE, 0, 0, 0])))

    def answer(self, number, identity, data):
        """Answer the request of an identity."""
        self.send_reliable(submessage(7, b'\x00\x0d' + object_id(number, REPLIER)
                                      + identity + data))

    def _create(self, number, name, type_name, kind):
        parts = b''
        for what, form in ((TOPIC, topic_form(name, type_name)), (kind - 2, b'\0\0'), (
                kind, object_id(number, TOPIC) + b'\0')):
            self.request += 1
            parts += create(self.request, number, what, form)
        self.send_reliable(parts)

    def write(self, number, data):
        self.best_effort += 1
        self.send(datagram(submessage(7, b'\x00\x10' + object_id(number, WRITER) + data),
                           BEST_EFFORT, self.best_effort))
