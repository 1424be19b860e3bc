# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What listens is what the page says, in each mode, and on this machine only."""
import os
import pathlib
import re
import socket

import psutil
import pytest
from commands import command, family, interrupt, running, wait_for_line

ROOT = pathlib.Path(__file__).resolve().parents[2]
FREE = range(*(int(word) for word in pathlib.Path(
    '/proc/sys/net/ipv4/ip_local_port_range').read_text().split()))


def rows():
    """Return the sockets of the page, with the modes in which they are."""
    text = (ROOT / 'docs' / 'limits.md').read_text()
    table = text[text.index('<!-- sockets -->'):text.index('<!-- end -->')]
    cells = [line.strip('| ').split(' | ') for line in table.splitlines() if line.startswith('| ')]
    return [(cell[0], cell[1]) for cell in cells[2:]]


def ports_of(text, instance, domain):
    """Return the ports that the name of a socket stands for, of the instance and the domain."""
    if 'a free port' in text:
        return FREE
    if found := re.search(r'(\d+) \+ 250 d and the (\d+) above', text):
        first = int(found[1]) + 250 * domain
        return range(first, first + int(found[2]) + 1)
    if found := re.search(r'(\d+) to (\d+)', text):
        return range(int(found[1]), int(found[2]) + 1)
    first, *later = map(int, re.findall(r'(\d+) \+ i', text))
    port = later[0] if later and instance >= 10 else first
    return range(port + instance, port + instance + 1)


@pytest.mark.slow
# Separate has the sockets of composed; at which addresses test_fly sees in each push.
@pytest.mark.parametrize('mode', [
    'core', 'composed', pytest.param('separate', marks=pytest.mark.long)])
def test_what_listens(mode, instance):
    domain = int(os.environ['ROS_DOMAIN_ID'])
    with running(command('fly', '--mode', mode, '--instance', instance, '--speed-factor', 1)) as it:
        wait_for_line(it, 'ready to fly')
        found = {('TCP' if one.type == socket.SOCK_STREAM else 'UDP', *one.laddr)
                 for process in (psutil.Process(it.pid), *family(it.pid))
                 for one in process.net_connections('inet') if not one.raddr}
        interrupt(it)
    assert {address for _, address, _ in found} == {'127.0.0.1'}
    known = {text: [(kind, port) for kind, _, port in found
                    if text.startswith(kind) and port in ports_of(text, instance, domain)]
             for text, modes in rows() if modes == 'all' or mode in modes}
    assert all(known.values()), known
    assert {(kind, port) for kind, _, port in found} == set().union(*known.values())
