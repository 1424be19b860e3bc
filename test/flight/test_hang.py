# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A block that does not come back from its step is named, with the place where it hangs."""
import os
import re
import signal
import time

import pytest
from commands import command, family, interrupt, running, wait_for_line, wait_gone

pytestmark = pytest.mark.process

# It begins to hang after a second of flight.
BLOCKS = '''
import os
import signal
import threading
import time
from px4_sim_ros.step.model_blocks import SensorBlock

class Endless(SensorBlock):
    def step(self, time_us, inputs):
        if time_us >= 1_000_000:
            print('begins', flush=True)
            self.turn()
        return super().step(time_us, inputs)

    def turn(self):
        while True:
            pass                                   # here

class Asleep(Endless):
    def turn(self):
        time.sleep(60.0)                           # here

class Sleepy(Endless):
    def turn(self):
        if not os.path.exists('slept'):
            open('slept', 'w').close()
            time.sleep(2.5)                        # here

class Napping(Endless):
    def turn(self):
        if not os.path.exists('slept'):
            open('slept', 'w').close()
            time.sleep(0.15)                       # for a look
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(0.15)                       # for another one
            open('woken', 'w').close()
'''
HERE = [number for number, line in enumerate(BLOCKS.splitlines(), 1) if '# here' in line]


@pytest.fixture
def fly(tmp_path, hop, instance):
    (tmp_path / 'hanging.py').write_text(BLOCKS)

    def start(name, *words):
        return running(command('fly', '--node', f'barometer=hanging:{name}', '--mission', hop,
                               '--instance', instance, *words), cwd=tmp_path)
    return start


@pytest.mark.parametrize('mode, who, name, lines', [
    ('core', r'^', 'Endless', (HERE[0] - 1, HERE[0])),
    # A loop in a graph is that of a test below.
    ('composed', r'\[barometer\]: ', 'Asleep', (HERE[1],)),
    pytest.param('separate', r'\[barometer\]: ', 'Endless', (HERE[0] - 1, HERE[0]),
                 marks=pytest.mark.long)])
def test_a_block_that_hangs_is_named(mode, who, name, lines, fly):
    with fly(name, '--mode', mode) as process:
        line = wait_for_line(process, 'has been in its step')[-1]
        assert re.search(
            who + r'barometer has been in its step at t = 1\.\d{6} s for 0\.5 s:'
            rf' in {name}\.turn, \S+/hanging\.py:({"|".join(map(str, lines))})$', line), line
        children = family(process.pid)
        assert interrupt(process) < 5.0
        said = process.stdout.read()
        assert said.splitlines()[-1] == 'fly: interrupted' and 'Traceback' not in said
        assert wait_gone(children, 0.0) == []


@pytest.mark.parametrize(('mode', 'line'), [
    ('composed', 'begins'), *(pytest.param(mode, line, marks=pytest.mark.long) for mode, line in (
        ('composed', 'has been in its step'), ('separate', 'begins'),
        ('separate', 'has been in its step')))])
def test_it_ends_with_whoever_started_it(mode, line, fly):
    """Also if that is killed before it is known that a block hangs."""
    with fly('Endless', '--mode', mode) as process:
        wait_for_line(process, line)
        children = family(process.pid)
        process.kill()
        assert wait_gone(children, 8.0) == []


@pytest.mark.parametrize('mode', [
    'core', pytest.param('composed', marks=pytest.mark.long)])
def test_one_that_comes_back_flies_on(mode, fly):
    with fly('Sleepy', '--mode', mode) as process:
        assert f':{HERE[2]}' in wait_for_line(process, 'has been in its step')[-1]
        said = process.stdout.read()
        assert process.wait(30) == 0, said
        assert 'has been in its step' not in said


def test_it_ends_the_flight_if_that_is_asked_for(fly):
    with fly('Endless', '--set', 'manager.on_overdue=fail') as process:
        line = wait_for_line(process, 'has been in its step')[-1]
        assert line.startswith('world: barometer has been in its step')
        said = process.stdout.read()
        assert process.wait(20) == 1
        assert said.splitlines()[-1].endswith('has ended with exit code 1')
        assert 'Traceback' not in said


def test_a_process_that_was_suspended_is_not_blamed(fly, tmp_path):
    """All of it stood still, not this block."""
    with fly('Napping', '--mode', 'core') as process:
        wait_for_line(process, 'begins')
        os.waitpid(process.pid, os.WUNTRACED)      # it stops itself, in the midst of its step
        assert not (tmp_path / 'woken').exists()
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        said = process.stdout.read()
        assert process.wait(30) == 0
        assert (tmp_path / 'woken').exists() and 'has been in its step' not in said
