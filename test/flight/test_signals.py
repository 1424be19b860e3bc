# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A signal ends a process in order, whenever it comes, with the exit code that is told."""
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

# Comes when the first module is imported that takes a while, as Python imports `signal`.
AT_AN_IMPORT = '''
import os, runpy, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == 'signal':
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Finder)
sys.argv = ['px4_sim_ros', 'list']
runpy.run_module('px4_sim_ros', run_name='__main__', alter_sys=True)
'''
# Comes while an executable of launch files imports.
IN_AN_EXECUTABLE = '''
import os, runpy, sys
from px4_sim_ros.cli import executables
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == 'rclpy':
            os.kill(os.getpid(), int(number))
name, number = sys.argv[1:]
del sys.argv[1:]
sys.meta_path.insert(0, Finder)
if '.' in name:
    runpy.run_module(name, run_name='__main__', alter_sys=True)
sys.exit(getattr(executables, name)())
'''
# Comes where Python compiles a text, as for a dataclass.
IN_A_TEXT = '''
import os, sys
from px4_sim_ros.cli import command_line
def run(arguments):
    try:
        exec('os.kill(os.getpid(), 2)\\nwhile True: pass')
    except KeyboardInterrupt:
        return 130
command_line._run = run
sys.exit(command_line.main())
'''
# Comes when the node is made; then Fast DDS hangs as that is destroyed, and holds the interpreter.
AS_DDS_HANGS = '''
import ctypes, os, runpy, sys
from rclpy.node import Node
from px4_sim_ros.process import leaving
from px4_sim_ros.ros.tools import control_client
class Hanging(Node):
    def __init__(self, *arguments, **options):
        init(self, *arguments, **options)
        os.kill(os.getpid(), number)
    def destroy_node(self):
        mutex, lock = (ctypes.c_byte * 64)(), ctypes.PyDLL(None).pthread_mutex_lock
        lock(mutex)
        os.kill(os.getpid(), 2)          # an interrupt neither helps nor changes the code
        lock(mutex)
number, init = int(sys.argv.pop(1)), Node.__init__
Node.__init__, Node.destroy_node = Hanging.__init__, Hanging.destroy_node
leaving._LEAVE_S = 1
control_client._FOUND_TIMEOUT_S = 0.0
runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)
'''
# Comes while a class is made.
IN_A_CLASS = '''
import os, sys
from px4_sim_ros.cli import command_line
class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), 2)
def run(arguments):
    class Owner:
        field = Field()
command_line._run = run
sys.exit(command_line.main())
'''
# Comes while a module in C is loaded, which makes it this error.
IN_A_MODULE_IN_C = '''
import os, sys
from px4_sim_ros.cli import command_line
def run(arguments):
    try:
        os.kill(os.getpid(), 2)
        while True: pass
    except KeyboardInterrupt as error:
        raise ImportError('initialization failed') from error
command_line._run = run
sys.exit(command_line.main())
'''
# Comes when LLVM has taken a module over, and its owner in Python does not know that yet.
IN_LLVM = '''
import os, sys
import llvmlite.binding as llvm
from px4_sim_ros.cli import command_line
from px4_sim_ros.jit import machine_code
class Lib:
    def LLVMPY_AddModule(self, *arguments):
        lib.LLVMPY_AddModule(*arguments)
        os.kill(os.getpid(), 2)
    def __getattr__(self, name):
        return getattr(lib, name)
lib, llvm.ffi.lib = llvm.ffi.lib, Lib()
def run(arguments):
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), machine_code._machine())
    engine.add_module(llvm.parse_assembly(''))
command_line._run = run
sys.exit(command_line.main())
'''
# Comes in a command while a class is made.
IN_A_COMMAND = '''
import importlib, os, sys
from px4_sim_ros.cli import command_line
class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), 2)
def make_class(*arguments):
    class Owner:
        field = Field()
module, name, *sys.argv[1:] = sys.argv[1:]
setattr(importlib.import_module(module), name, make_class)
sys.exit(command_line.main())
'''
# What `raise_interrupt` and what `Stop` makes of a signal.
HANDLERS = '''
import os, sys
from px4_sim_ros.process import signals
number = int(sys.argv[1])
signals.raise_interrupt()
try:
    with signals.unwrapped():
        os.kill(os.getpid(), number)
except KeyboardInterrupt:
    print('interrupted')
stop = signals.Stop()
os.kill(os.getpid(), number)
print(stop.asked)
'''
# Comes while it is held back, once within another such part, and once when the end is under way.
HELD_BACK = '''
import os
from px4_sim_ros.process import signals
signals.raise_interrupt()
try:
    with signals.unwrapped(), signals.held_back() as outer:
        with signals.held_back():
            os.kill(os.getpid(), 15)
            print('inner')
        print('outer', outer.asked)
except KeyboardInterrupt:
    print('interrupted')
with signals.held_back():
    os.kill(os.getpid(), 15)
print('ends')
'''

# Comes while a block hangs, which is told to be back as its step is left.
WHILE_A_BLOCK_HANGS = '''
import os
from px4_sim_ros.process import signals
signals.raise_interrupt()
try:
    with signals.unwrapped(), signals.held_back() as stop:
        stop.hangs = 'imu has been in its step'
        try:
            os.kill(os.getpid(), 2)
        finally:
            stop.hangs = ''
except KeyboardInterrupt:
    print('interrupted')
'''

# Comes before it is known that a block hangs.
BEFORE_A_BLOCK_HANGS = '''
import os, threading
from px4_sim_ros.process import signals
signals.raise_interrupt()
try:
    with signals.unwrapped(), signals.held_back() as stop:
        os.kill(os.getpid(), 2)
        print(stop.asked, flush=True)
        threading.Thread(target=stop.note_hang, args=['imu has been in its step']).start()
        while True:
            pass
except KeyboardInterrupt:
    print('interrupted')
'''

# Comes where what it raises is dropped.
WHERE_NOTHING_IS_PASSED_ON = '''
import ctypes, os, sys, time
from px4_sim_ros.process import signals
class Owner:
    def __del__(self):
        os.kill(os.getpid(), 1)
class Key:
    def __hash__(self):
        return 1
    def __eq__(self, other):
        os.kill(os.getpid(), 1)
def call_back(function):
    ctypes.CFUNCTYPE(None)(function)()
def in_a_callback():
    call_back(lambda: os.kill(os.getpid(), 1))
def in_a_destructor():
    Owner()
def in_two_callbacks():
    in_a_callback()
    call_back(lambda: time.sleep(0.5))             # comes again as this one is under way
def in_a_look_up():
    look_up = ctypes.pythonapi.PyDict_GetItem      # is documented to drop all errors
    look_up.argtypes, look_up.restype = [ctypes.py_object] * 2, ctypes.c_void_p
    look_up({Key(): 1}, Key())
def in_an_import():
    try:
        try:
            os.kill(os.getpid(), 1)
            time.sleep(60)
        except KeyboardInterrupt as error:         # as a module in C that is loaded
            raise ImportError('initialization failed') from error
    except ImportError:                            # the library does without it
        pass
def in_a_callback_that_was_needed():
    in_a_callback()
    raise RuntimeError('no compiled object yet')
signals.raise_interrupt()
try:
    with signals.unwrapped():
        globals()[sys.argv[1]]()
        for _ in range(600):       # a signal just before a call of the system does not end it
            time.sleep(0.1)
except KeyboardInterrupt:
    print('interrupted')
'''
# Comes where something is made by half, which complains as it goes.
IN_HALF_A_THING = '''
import os
from px4_sim_ros.process import signals
class Thing:
    def __init__(self):
        os.kill(os.getpid(), 1)
        self.handle = 1
    def __del__(self):
        del self.handle
signals.raise_interrupt()
try:
    with signals.unwrapped():
        Thing()
except KeyboardInterrupt:
    print('interrupted')
'''
# Comes while it is held back, and something else fails.
AS_ANOTHER_FAILS = '''
import os
from px4_sim_ros.process import signals
signals.raise_interrupt()
try:
    with signals.unwrapped():
        with signals.held_back():
            os.kill(os.getpid(), 1)
            raise OSError('fails')
except KeyboardInterrupt:
    print('interrupted')
'''

# Comes as a world makes its second node.
AS_NODES_ARE_MADE = '''
import os, sys
from px4_sim_ros.ros import world
from px4_sim_ros.ros.framework.block_node import BlockNode
from px4_sim_ros.ros.manager.manager import ManagerNode
def made(kind):
    make = kind.__init__
    def made(self, name, *arguments):
        if kind is BlockNode:
            os.kill(os.getpid(), 2)
        make(self, name, *arguments)
        print(name)
    kind.__init__ = made
made(BlockNode)
made(ManagerNode)
sys.exit(world.main([]))
'''
# They arrive in a task of a loop that handles them, and after that loop has ended.
IN_A_LOOP = '''
import asyncio, os
from px4_sim_ros.process import signals
async def run():
    signals.leave_to(asyncio.get_running_loop(), print)
    for number in 2, 15, 1:
        os.kill(os.getpid(), number)
    print('goes on')
asyncio.new_event_loop().run_until_complete(run())
os.kill(os.getpid(), 15)
try:
    os.kill(os.getpid(), 2)
except KeyboardInterrupt:
    print('interrupted')
'''
# Comes when Python has taken its handlers away: the process is all but gone.
AS_PYTHON_ENDS = '''
import os, sys
from px4_sim_ros.process import signals
class Owner:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, 2)
owner = Owner()
getattr(signals, sys.argv[1])()
sys.exit(3)
'''
# Something is left to be done as a process ends.
AT_THE_END = '''
import atexit, threading, time
from px4_sim_ros.process import leaving
def finish():
    time.sleep(0.1)
    print('thread')
threading.Thread(target=finish).start()
atexit.register(print, 'exit')
leaving.end(3)
'''


def ended(*words, **options):
    """Run Python to its end, with SIGHUP as usual, also where the tests themselves have nohup."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
                          check=False, **options)


def test_a_signal_waits_until_there_is_a_handler():
    result = ended('-c', AT_AN_IMPORT)
    assert (result.returncode, result.stdout, result.stderr) == (130, '', '')


@pytest.mark.parametrize('name, number', [
    ('world', 2), ('autopilot_supervisor', 15), ('visualizer', 2),
    ('px4_sim_ros.ros.world', 2)])
def test_an_executable_that_still_imports_ends_at_once(name, number):
    result = ended('-c', IN_AN_EXECUTABLE, name, str(number))
    assert (result.returncode, result.stdout, result.stderr) == (0, '', '')


@pytest.mark.parametrize('program', [IN_A_TEXT, IN_A_CLASS, IN_A_MODULE_IN_C, IN_LLVM])
def test_the_exit_code_is_told_wherever_the_signal_came(program, tmp_path):
    (tmp_path / 'ends.py').write_text(program)
    result = ended('-m', 'ends', cwd=tmp_path)
    assert (result.returncode, result.stderr) == (130, '')


@pytest.mark.parametrize('words', [
    ('px4_sim_ros.flight.flight', 'make_world', 'fly', '--mode', 'core'),
    ('px4_sim_ros.cli.replay', 'vehicles_of', 'replay', 'bag'),
    pytest.param(('px4_sim_ros.campaign.conduct', 'conduct', 'campaign', 'wind_limit'),
                 marks=pytest.mark.long)])
def test_a_command_takes_an_interrupt_for_no_failure_wherever_it_came(words, tmp_path):
    result = ended('-c', IN_A_COMMAND, *words, cwd=tmp_path)
    assert result.returncode == 130
    assert result.stderr.splitlines()[-1] == f'{words[2]}: interrupted'


@pytest.mark.parametrize('place', ['in_a_callback', 'in_two_callbacks', 'in_a_destructor',
                                   'in_a_look_up', 'in_an_import',
                                   'in_a_callback_that_was_needed'])
def test_an_interrupt_that_is_lost_on_its_way_comes_again(place):
    result = ended('-c', WHERE_NOTHING_IS_PASSED_ON, place)
    assert (result.stdout, result.stderr) == ('interrupted\n', '')


@pytest.mark.parametrize('program', [IN_HALF_A_THING, AS_ANOTHER_FAILS])
def test_an_interrupt_is_all_that_is_told(program):
    result = ended('-c', program)
    assert (result.stdout, result.stderr) == ('interrupted\n', '')


def test_what_holds_signals_back_hands_them_on():
    result = ended('-c', HELD_BACK)
    assert (result.stdout, result.stderr) == ('inner\nouter True\ninterrupted\nends\n', '')


def test_what_hangs_is_left_by_an_interrupt_also_if_it_seems_to_be_back_by_then():
    result = ended('-c', WHILE_A_BLOCK_HANGS)
    assert (result.stdout, result.stderr) == ('interrupted\n', '')


def test_what_hangs_is_left_by_an_interrupt_that_came_before_that_was_known():
    result = ended('-c', BEFORE_A_BLOCK_HANGS)
    assert (result.stdout, result.stderr) == ('True\ninterrupted\n', '')


@pytest.mark.parametrize('words, number, code, said', [
    (('px4_sim_ros', 'status'), 0, 1, 'status: no manager was found'),
    (('px4_sim_ros.ros.world', 'wind'), 15, 0, ''),
    (('px4_sim_ros.cli.visualizer',), 2, 0, '')])
def test_a_process_whose_dds_hangs_at_its_end_ends_with_its_code(words, number, code, said):
    result = ended('-c', AS_DDS_HANGS, str(number), *words)
    assert result.returncode == code, result.stderr
    assert said in result.stderr


def test_a_loop_that_is_told_of_it_is_not_interrupted():
    result = ended('-c', IN_A_LOOP)
    assert (result.stdout, result.stderr) == ('15\n1\ngoes on\ninterrupted\n', '')


@pytest.mark.parametrize('number', [1, 2, 15])
def test_all_signals_that_ask_for_the_end_are_alike(number, foreground):
    result = ended('-c', HANDLERS, str(number))
    assert (result.stdout, result.stderr) == ('interrupted\nTrue\n', '')


def test_the_end_of_the_terminal_is_ignored_where_that_was_asked_for():
    result = subprocess.run(['nohup', sys.executable, '-c', HANDLERS, '1'], capture_output=True,
                            text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stdout) == (0, 'False\n')


@pytest.mark.parametrize('handler', ['Stop', 'raise_interrupt'])
def test_a_signal_as_python_ends_does_not_change_the_exit_code(handler):
    result = ended('-c', AS_PYTHON_ENDS, handler)
    assert (result.returncode, result.stderr) == (3, '')


def test_what_is_left_to_be_done_at_the_end_is_done():
    result = ended('-c', AT_THE_END)
    assert (result.returncode, result.stdout, result.stderr) == (3, 'thread\nexit\n', '')


def test_an_end_whose_output_cannot_be_written_is_told():
    """By Python, with its exit code for that."""
    code = "from px4_sim_ros.process import leaving\nprint('lost')\nleaving.end(3)"
    environment = {k: v for k, v in os.environ.items() if k != 'PYTHONUNBUFFERED'}
    with open('/dev/full', 'w') as full:
        result = subprocess.run([sys.executable, '-c', code], stdout=full, env=environment,
                                stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 120 and 'No space left on device' in result.stderr


def test_a_world_that_makes_its_nodes_makes_no_more():
    result = ended('-c', AS_NODES_ARE_MADE)
    assert (result.returncode, result.stdout, result.stderr) == (0, 'manager\ndynamics\n', '')
