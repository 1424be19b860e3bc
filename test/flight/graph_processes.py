# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of a graph, hurts them, and sees from outside what comes of it."""
import contextlib
import functools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import rclpy
from commands import command
from diagnostic_msgs.msg import DiagnosticArray
from graph_recording import Recording
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.experimental import EventsExecutor
from rclpy.parameter import Parameter
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from stand_in_autopilot import connect
from std_msgs.msg import String
from std_srvs.srv import Trigger

from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.messages.stamps import serialised_stamp_us
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.process.children import Child
from px4_sim_ros.ros.framework import qos
from px4_sim_ros.ros.framework.session import message_class
from px4_sim_ros.ros.framework.status_client import StatusClient
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.parameter_files import write_parameters
from px4_sim_ros.spec.ros_environment import ros_environment
from px4_sim_ros.step import graph

STEP_US = 4000
COMMAND = 'actuators/command'
# For what has no promised bound. Others may use the processor as well.
PATIENCE_S = 30.0
# A fault is told within the parameter's bound and this.
TOLD_S = 2.0
_ANSWER_S = 1.0
# A transition is refused when it is asked for again: so on a busy machine it is waited for.
_TRANSITION_S = 10.0
_END_S = 4.0
# Those that are named by ports belong to all processes of the machine.
_SHARED_MEMORY = r'/dev/shm/fastrtps_[0-9a-f]{16}\S*'
# Nothing is lost here while the test does something else.
_RECORD = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE, history=HistoryPolicy.KEEP_LAST, depth=10_000)


class Recordings:
    """Serialised messages by topic and time, of each run: its times begin at 0 again.

    Runs are told apart where each of them has a message of each topic.
    """

    def __init__(self):
        self._runs = [Recording()]
        self._stamps = {}         # by topic: a list a run

    def add(self, topic, data):
        """Take in a message. Each topic tells by itself that time has begun again."""
        time_us = serialised_stamp_us(data)
        stamps = self._stamps.setdefault(topic, [[]])
        if stamps[-1] and time_us <= stamps[-1][-1]:
            stamps.append([])
        stamps[-1].append(time_us)
        if len(stamps) > len(self._runs):
            self._runs.append(Recording())
        self._runs[len(stamps) - 1].add(topic, data)

    def of_run(self, index):
        """Return the messages of a run; the first is 0."""
        return self._runs[index] if index < len(self._runs) else Recording()

    def stamps(self, topic, index=0):
        """Return the times of a topic's messages in a run; the last one is -1."""
        stamps = self._stamps.get(topic, [])
        return stamps[index] if index < len(stamps) and stamps else []

    @property
    def steps(self):
        """How many steps were seen to be complete, in all runs."""
        return sum(map(len, self._stamps.get(COMMAND, ())))


def _transition(name):
    number = getattr(Transition, f'TRANSITION_{name.upper()}')
    return ChangeState.Request(transition=Transition(id=number))


class Observer:
    """A node in a context of its own that listens to what the graph says about itself."""

    def __init__(self):
        self.status = None            # the last run status
        self.link = ''                # the last on hil/state
        self.diagnostics = {}         # by node: its last sentence
        self.recordings = Recordings()
        self._context = rclpy.Context()
        rclpy.init(args=[], context=self._context,
                   signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(f'observer_{os.getpid()}', context=self._context)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)
        # Made early: a service that does not know its client yet cannot answer it.
        self._clients = {}
        for verb in ('pause', 'resume', 'step', 'reset', 'stop'):
            self.client(Trigger, f'sim/{verb}')
        self.client(SetParameters, 'manager/set_parameters')
        self._subscriptions = [
            self.node.create_subscription(kind, topic, listener, profile)
            for kind, topic, listener, profile in (
                (String, 'hil/state', self._on_link, qos.LATCHED),
                (DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.DIAGNOSTICS))]
        self._status_client = StatusClient(self.node, self._on_status)
        self.record([graph.TOPICS[COMMAND]])

    def close(self):
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def spin(self):
        self._executor.spin_once(timeout_sec=0.02)

    def record(self, topics):
        """Record topics from now on."""
        subscriptions = [
            self.node.create_subscription(
                message_class(topic.type), topic.name,
                functools.partial(self.recordings.add, topic.name), _RECORD, raw=True)
            for topic in topics]
        self._subscriptions += subscriptions
        return lambda: all(s.get_publisher_count() for s in subscriptions)

    def client(self, kind, name):
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        return self._clients[name]

    def _on_status(self, status):
        self.status = status

    def _on_link(self, state):
        self.link = state.data

    def _on_diagnostics(self, message):
        for status in message.status:
            self.diagnostics[status.name.removeprefix('/')] = status.message


class GraphProcesses:
    """The processes of one graph, by the names of their nodes; those that share one are `world`.

    What it starts is a child of this process or of none: `close` ends all and looks for remains.
    """

    def __init__(self, folder, mode, instance, parameters=None, absent=(), apart=None):
        """Start the processes, without those of the nodes in `absent`.

        :param apart: the nodes with a process of their own in `separate`; all by default
        """
        self.instance, self.mode = instance, mode
        self._folder = pathlib.Path(folder)
        self._params_file = self._folder / 'run.yaml'
        parameters = dict(parameters or {})
        parameters['hil_bridge'] = {'instance': instance} | parameters.get('hil_bridge', {})
        write_parameters(self._params_file, parameters)
        shared = {'': parameters.get('', {})}
        try:
            self.graph = load_configuration(None, shared).graph
        except ParameterError:
            self.graph = graph.of_instances({})       # for those who look how it is refused
        own = list(self.graph.nodes if apart is None else apart) if mode == 'separate' else []
        self._together = [name for name in self.graph.nodes if name not in own]
        self.names = own + ['world'] * bool(self._together)
        self._environment = ros_environment() | {'PYTHONFAULTHANDLER': '1'}
        self._children = {}
        self._ended = []                  # replaced by others of the same name
        self._logs = {}                   # by name, of all processes of this name
        self._shared_memory = set()
        self._autopilot = None
        assert not self._port_is_used(), f'instance {instance} is in use'
        self.observer = Observer()
        for name in self.names:
            if name not in absent:
                self.start(name)

    # Processes.

    def start(self, name):
        """Start the process of a node, or once more after it has ended."""
        if name in self._children:
            assert self._children[name].exit_code is not None, f'{name} still runs'
            self._ended.append(self._children[name])
        logs = self._logs.setdefault(name, [])
        logs.append(self._folder / f'{name}_{len(logs)}.log')
        arguments = ['--ros-args', '--params-file', str(self._params_file)]
        nodes = self._together if name == 'world' else [name]
        words = (['px4_sim_ros.autopilot.process', '--instance', self.instance]
                 if name == 'autopilot' else ['px4_sim_ros.ros.world', *nodes, *arguments])
        self._children[name] = Child(
            name, [sys.executable, '-m', *words], log=logs[-1], environment=self._environment)

    def _signal(self, name, number):
        os.kill(self._children[name].pid, number)

    def suspend(self, name):
        self._signal(name, signal.SIGSTOP)

    def resume(self, name):
        self._signal(name, signal.SIGCONT)

    def kill(self, name):
        """Kill a process, as a crash or the kernel would."""
        self._note_shared_memory()
        self._signal(name, signal.SIGKILL)
        assert self._children[name].wait(PATIENCE_S)

    def terminate(self, name, number=signal.SIGTERM):
        self._note_shared_memory()
        self._signal(name, number)

    def pid(self, name):
        """Return the process id of a node's present process."""
        return self._children[name].pid

    def is_alive(self, name):
        return self._children[name].exit_code is None

    def wait_ended(self, bound_s, but=()):
        """Wait until the processes of the graph have ended; return the exit codes by name."""
        names = [n for n in self.names if n in self._children and n not in but]
        try:
            self.wait_for(lambda: not any(map(self.is_alive, names)), bound_s, 'the end')
        except AssertionError:
            left = [name for name in names if self.is_alive(name)]
            for name in left:            # where it stands is in its report then
                _send(self._children[name], signal.SIGABRT)
            self.wait_for(lambda: not any(map(self.is_alive, left)), bound_s, 'an abort')
            raise AssertionError(f'{left} did not end\n{self.report()}') from None
        return {name: self._children[name].exit_code for name in names}

    def said(self, name):
        """Return what the present process of a node has printed."""
        return self._logs[name][-1].read_text(errors='replace')

    # Autopilots.

    def connect(self):
        """Let a scripted autopilot of this process fly; the one before goes."""
        self.disconnect()
        if self.has_embedded:
            self.kill('autopilot')
        self.wait_for(self._port_is_used, PATIENCE_S, 'somebody who listens on the port')
        self._autopilot = connect(self.instance)
        return self._autopilot

    @property
    def has_scripted(self):
        return self._autopilot is not None and self.link == 'LOCKED'

    @property
    def has_embedded(self):
        return 'autopilot' in self._children and self.is_alive('autopilot')

    def disconnect(self):
        if self._autopilot is not None:
            # The other side may have gone before.
            with contextlib.suppress(OSError):
                self._autopilot.close()
            self._autopilot = None

    def _port_is_used(self):
        """Return whether somebody listens; without connecting, which would be an autopilot."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(('127.0.0.1', port_of(self.instance)))
            except OSError:
                return True
        return False

    # What is seen.

    def wait_for(self, condition, bound_s, what):
        """Wait until a condition holds; return the seconds that it took."""
        started_s = time.monotonic()
        while not condition():
            if time.monotonic() - started_s > bound_s:
                raise AssertionError(
                    f'{what} has not come within {bound_s:g} s\n{self.report()}')
            self.observer.spin()
        return time.monotonic() - started_s

    def watch(self, duration_s, condition, what):
        """See that a condition holds all the time."""
        deadline_s = time.monotonic() + duration_s
        while time.monotonic() < deadline_s:
            self.observer.spin()
            assert condition(), f'{what}\n{self.report()}'

    def report(self):
        """Return all that helps to understand a failure."""
        texts = [f'sim/status: {self.sentence!r} {self.values}', f'hil/state: {self.link}',
                 f'/diagnostics: {self.observer.diagnostics}']
        for name, logs in self._logs.items():
            child = self._children[name]
            texts.append(f'--- {name} (process {child.pid}, exit code {child.exit_code})')
            texts += [line for log in logs
                      for line in log.read_text(errors='replace').splitlines()[-15:]]
        return '\n'.join(texts)

    @property
    def values(self):
        status = self.observer.status
        return {} if status is None else status.values()

    @property
    def sentence(self):
        return '' if self.observer.status is None else self.observer.status.sentence

    @property
    def state(self):
        return self.values.get('state', '')

    @property
    def steps(self):
        return int(self.values.get('steps', 0))

    @property
    def run(self):
        return int(self.values.get('run', 0))

    @property
    def link(self):
        return self.observer.link

    def forget(self):
        """Forget what was seen: a manager that is gone has left its last status."""
        self.observer.status, self.observer.link = None, ''
        self.observer.diagnostics.clear()

    def wait_state(self, state, bound_s=PATIENCE_S):
        return self.wait_for(lambda: self.state == state, bound_s, f'state {state}')

    def wait_link(self, state, bound_s=PATIENCE_S):
        return self.wait_for(lambda: self.link == state, bound_s, f'link {state}')

    def wait_sentence(self, state, pattern, bound_s):
        """Wait for a status with one sentence that matches as a whole."""
        return self.wait_for(
            lambda: self.state == state and re.fullmatch(pattern, self.sentence), bound_s,
            f'{state}: {pattern}')

    def wait_steps(self, count, bound_s=PATIENCE_S):
        """Wait until time has gone on by some steps, seen from now."""
        recordings = self.observer.recordings
        goal = recordings.steps + count
        self.wait_for(lambda: self.state == 'RUNNING' and recordings.steps >= goal, bound_s,
                      f'{count} steps more')

    def wait_said(self, name, text, bound_s=PATIENCE_S):
        return self.wait_for(lambda: text in self.said(name), bound_s, f'{name}: {text!r}')

    def wait_up(self):
        """Wait until the graph is active; time goes on with the first autopilot."""
        self.wait_for(lambda: self.state in ('RUNNING', 'WAITING', 'PAUSED'), PATIENCE_S,
                      'a graph that is up')

    # Requests.

    def _answer(self, kind, name, request, answer_s=_ANSWER_S):
        """Return the answer to a request; asked again, as the first may be lost."""
        client = self.observer.client(kind, name)
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            self.wait_for(client.service_is_ready, PATIENCE_S, f'the service {name}')
            call = client.call_async(request)
            with contextlib.suppress(AssertionError):
                self.wait_for(call.done, answer_s, f'an answer of {name}')
                return call.result()
            client.remove_pending_request(call)
        raise AssertionError(f'{name} does not answer\n{self.report()}')

    def ask(self, verb):
        """Call a service below sim/."""
        return self._answer(Trigger, f'sim/{verb}', Trigger.Request())

    def set(self, node='manager', **values):
        """Set parameters of a node; return the results."""
        request = SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
        return self._answer(SetParameters, f'{node}/set_parameters', request).results

    def change(self, node, transition):
        """Ask a node for a transition of its lifecycle."""
        request = _transition(transition)
        answer = self._answer(ChangeState, f'{node}/change_state', request, _TRANSITION_S)
        assert answer.success, f'{node} did not {transition}\n{self.report()}'

    def shut_down(self, node):
        """Shut a node down; its process may have ended before the answer is out."""
        process = node if node in self.names else 'world'
        client = self.observer.client(ChangeState, f'{node}/change_state')
        self.wait_for(client.service_is_ready, PATIENCE_S, f'the service {node}/change_state')
        call = client.call_async(_transition('active_shutdown'))
        self.wait_for(lambda: call.done() or not self.is_alive(process), PATIENCE_S,
                      f'the shutdown of {node}')
        assert not call.done() or call.result().success, self.report()

    def wait_answers(self, node):
        """Wait until a node that was started again answers."""
        self._answer(Trigger, f'{node}/status', Trigger.Request())

    def call(self, kind, name, /, **fields):
        """Call a service that is not to be called twice, and return its answer."""
        client = self.observer.client(kind, name)
        self.wait_for(client.service_is_ready, PATIENCE_S, f'the service {name}')
        call = client.call_async(kind.Request(**fields))
        self.wait_for(call.done, PATIENCE_S, f'an answer of {name}')
        return call.result()

    def _ask_once(self, verb):
        """Call a service below sim/ that is not to be called twice."""
        answer = self.call(Trigger, f'sim/{verb}')
        assert answer.success, f'{answer.message}\n{self.report()}'

    def pause(self):
        assert self.ask('pause').success
        self.wait_state('PAUSED')

    def go_on(self):
        assert self.ask('resume').success
        self.wait_for(lambda: self.state != 'PAUSED', PATIENCE_S, 'time that goes on')

    def step(self, count):
        """Go on by exactly some steps, from a pause to the next."""
        goal = self.steps + count
        assert self.set(step_count=count)[0].successful
        self._ask_once('step')
        self.wait_for(lambda: self.state == 'PAUSED' and self.steps >= goal, PATIENCE_S,
                      f'the pause after step {goal}')
        assert self.steps == goal

    def reset(self):
        """Begin again at time 0; return when the new run is up."""
        before = self.run
        self._ask_once('reset')
        self.wait_for(lambda: self.run == before + 1 and self.state != 'RESETTING', PATIENCE_S,
                      'the next run')
        assert self.state != 'STOPPED', self.report()

    def command(self, *words, timeout_s=PATIENCE_S):
        """Run `python -m px4_sim_ros`, listening meanwhile; return the finished process."""
        with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            try:
                self.wait_for(lambda: process.poll() is not None, timeout_s,
                              f'the end of {words}')
            finally:
                process.kill()
            return subprocess.CompletedProcess(words, process.returncode, *process.communicate())

    def record(self, *names):
        """Record topics, beside the command: those with the names, or all of the step."""
        topics = [topic for name, topic in self.graph.topics.items()
                  if name not in ('/clock', COMMAND) and (not names or name in names)]
        matched = self.observer.record(topics)
        self.wait_for(matched, PATIENCE_S, 'publishers of all topics')

    # The end.

    def is_well(self):
        """Return whether the whole graph goes on or waits for an autopilot."""
        self.observer.spin()
        return (all(name in self._children and self.is_alive(name) for name in self.names)
                and self.state in ('RUNNING', 'WAITING', 'PAUSED'))

    def shared_memory(self):
        """Return the files of shared memory that the processes have used so far."""
        self._note_shared_memory()
        return self._shared_memory

    def _note_shared_memory(self):
        for child in self._children.values():
            if child.exit_code is None:
                with contextlib.suppress(OSError):
                    maps = pathlib.Path(f'/proc/{child.pid}/maps').read_text()
                    self._shared_memory |= set(re.findall(_SHARED_MEMORY, maps))

    def remains(self):
        """Return what is left of processes that should all have ended."""
        # Each was made the leader of a session.
        ours = {child.pid for child in [*self._children.values(), *self._ended]}
        found = [f'process {pid}' for pid in psutil.pids() if _session_of(pid) in ours]
        if self._port_is_used():
            found.append(f'a socket on TCP port {port_of(self.instance)}')
        return found + [file for file in sorted(self._shared_memory) if os.path.exists(file)]

    def close(self):
        """End everything, in order if that is possible: a killed process cannot tidy up."""
        self._note_shared_memory()
        self.disconnect()
        alive = [child for child in self._children.values() if child.exit_code is None]
        for child in alive:
            _send(child, signal.SIGCONT)
        head = self._children.get('manager' if 'manager' in self.names else 'world')
        for group in [child for child in alive if child is head], alive:
            for child in group:
                _send(child, signal.SIGTERM)
            deadline_s = time.monotonic() + _END_S
            for child in alive if group else ():
                child.wait(max(0.0, deadline_s - time.monotonic()))
        for child in alive:
            child.stop(timeout_s=0.0)
        self.observer.close()


def _send(child, number):
    """Send a signal, unless the process has ended."""
    if child.exit_code is None:
        os.kill(child.pid, number)


def _session_of(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:      # it has ended meanwhile
        return None


@contextlib.contextmanager
def running_graph(folder, mode, instance, parameters=None, absent=(), apart=None):
    """Run a graph; afterwards nothing of it is left, whatever happened."""
    world = GraphProcesses(folder, mode, instance, parameters, absent, apart)
    try:
        yield world
    finally:
        world.close()
    left = world.remains()
    assert not left, left


class KeptGraph:
    """One graph at a time for a chain of tests, made anew when a test has left it unwell."""

    def __init__(self, folders, instance, parameters, recorded=(), apart=None):
        self._folders, self._apart = folders, apart
        self._instance, self._parameters, self._recorded = instance, parameters, recorded
        self._graph = None
        self._left = []

    def running(self, mode, autopilot='scripted'):
        """Return the graph with time going on and an autopilot."""
        if self._graph is None or self._graph.mode != mode or not self._graph.is_well():
            self._begin(mode)
        world = self._graph
        if world.state == 'PAUSED':
            world.go_on()
        if autopilot == 'scripted' and not world.has_scripted:
            world.connect()
        if autopilot == 'embedded' and not world.has_embedded:
            world.disconnect()
            world.wait_link('WAITING')         # or the link of before would be taken for its own
            world.start('autopilot')
        world.wait_link('LOCKED')
        world.wait_steps(1)
        return world

    def begun_again(self, mode, autopilot='scripted'):
        """Return the same shortly after the beginning of a run: on the ground."""
        world = self._graph
        if world is not None and world.mode == mode and world.is_well():
            world.disconnect()
            if world.has_embedded:
                world.kill('autopilot')
            world.reset()
        return self.running(mode, autopilot)

    def _begin(self, mode):
        self.close()
        self._graph = GraphProcesses(
            self._folders.mktemp(mode), mode, self._instance, self._parameters, apart=self._apart)
        if self._recorded:
            self._graph.record(*self._recorded)
        self._graph.wait_up()

    def close(self):
        """End it: another graph would share its ROS domain."""
        if self._graph is not None:
            world, self._graph = self._graph, None
            world.close()
            self._left += world.remains()

    def finish(self):
        """End the last one, and see that none has left anything."""
        self.close()
        assert not self._left, self._left
