# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What single parts cost when they run alone, in a process of its own: calls of the real functions.

Beside them the calibration loop, plain Python that is none of ours: what a part costs in such loops
is nearly the same on every machine.
"""
from __future__ import annotations

import contextlib
import itertools
import json
import math
import pathlib
import select
import socket
import sys
import time
import typing

from px4_sim_ros.bench import scripted_flight
from px4_sim_ros.bench.trivial_peer import Answers
from px4_sim_ros.link.hil.decoder import HilDecoder
from px4_sim_ros.link.hil.frames import HilFrames
from px4_sim_ros.link.hil.link_state import HilParameters
from px4_sim_ros.model.body.dynamics import Dynamics
from px4_sim_ros.model.body.integrators import INTEGRATOR_NAMES, DynamicsParameters
from px4_sim_ros.model.environment.environment import Environment
from px4_sim_ros.model.inputs import STILL
from px4_sim_ros.model.parameters import Parameters
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.model.truth import Truth
from px4_sim_ros.process.child_prefix import own_module
from px4_sim_ros.process.children import Child
from px4_sim_ros.spec.blocks import block_configuration
from px4_sim_ros.spec.configuration import Configuration, load_configuration
from px4_sim_ros.step import graph
from px4_sim_ros.step.block import BlockConfiguration, Inputs
from px4_sim_ros.step.lane import Output
from px4_sim_ros.step.schedule import period_of

CALIBRATION = 'calibration loop'
SECOND_DYNAMICS = 'dynamics, two in turn'
_CALIBRATION_TURNS = 1000
# Short enough that a vehicle without control stays upright.
_STEPS = 250
# So few that no other process runs meanwhile.
_EXCHANGES = 25
_LIGHT_AIR_ENU = (0.002, 0.001, 0.0)
_ACCEPT_TIMEOUT_S = 5.0
_EXCHANGE_TIMEOUT_S = 2.0


class Cost(typing.NamedTuple):
    """A part that was measured alone."""

    us: float               # a call
    calls: float            # in a step


def calibration() -> float:
    """Do what is the unit of the budget: floats, names, a list, a tuple and a call a turn."""
    x, values = 0.5, [0.0] * 8
    for i in range(_CALIBRATION_TURNS):
        values[i & 7] = x
        pair = (x, values[(i + 3) & 7])
        x = math.sqrt(0.3 + 0.4 * pair[0] * pair[1])
    return x


def calibration_us(wall_s: float) -> float:
    """Return what a calibration loop takes now, with all that others do on the machine."""
    turns, started_s = 0, time.perf_counter()
    while (spent_s := time.perf_counter() - started_s) < wall_s or not turns:
        calibration()
        turns += 1
    return spent_s / turns * 1e6


class _Bench:
    """Measures calls; each part gets the same share of the time.

    What counts is the least of many short rounds: in that one no other process has run.
    """

    def __init__(self, share_s: float, rounds: int) -> None:
        self._round_s = share_s / rounds
        self.rounds = rounds
        self.costs: dict[str, Cost] = {}

    def measure(self, name: str, call: typing.Callable[[], object], calls_a_round: float = 1.0,
                calls: float = 1.0) -> None:
        """Take the least of all rounds.

        :param call: does `calls_a_round` calls of the part
        :param calls: of the part in a step
        """
        call()
        found = []
        for _ in range(self.rounds):
            turns, started_s = 0, time.perf_counter()
            while (spent_s := time.perf_counter() - started_s) < self._round_s or not turns:
                call()
                turns += 1
            found.append(spent_s / turns / calls_a_round * 1e6)
        self.costs[name] = Cost(min(found), calls)


def dynamics_us(integrator: str, rounds: int, vehicles: int = 1) -> float:
    """Return the least wall time of a step in flight of the default vehicle, in us.

    :param vehicles: so many are stepped in turn; the time is that of a step of one
    """
    configuration = load_configuration(None, {'dynamics': {'integrator': integrator}})
    world, vehicle = configuration.world, configuration.vehicle
    environment = Environment.of(world)
    speed = 1.01 * vehicle.hover_speed_rad_s(
        environment.gravity_m_s2(0.0), environment.density_kg_m3(0.0))
    references = (speed,) * len(vehicle.rotors)
    found = []
    for _ in range(rounds):
        steps = [Dynamics(
            configuration.of_node('dynamics', DynamicsParameters), vehicle, environment,
            world.step_us).step for _ in range(vehicles)]
        for _ in range(2):           # what counts is the second time
            started_s = time.perf_counter()
            for _ in range(_STEPS):
                for step in steps:
                    step(references, _LIGHT_AIR_ENU)
        found.append((time.perf_counter() - started_s) / _STEPS / vehicles * 1e6)
    return min(found)


def _flights(rounds: int) -> int:
    """Return how many flights of the dynamics take the place of so many short rounds."""
    return max(3, rounds // 10)


def _models(
    bench: _Bench, configuration: Configuration, all_truths: typing.Sequence[Truth],
) -> None:
    world = configuration.world
    integrator = configuration.of_node('dynamics', DynamicsParameters).integrator
    flights = _flights(bench.rounds)
    bench.costs['dynamics'] = Cost(dynamics_us(integrator, flights), 1.0)
    bench.costs[SECOND_DYNAMICS] = Cost(dynamics_us(integrator, flights, vehicles=2), 1.0)
    for name in configuration.graph.sensors:
        model = graph.load(graph.spec_of(name).model)(
            name, configuration.of_node(name, Parameters), world)
        period_us = world.period_us(name)
        # A sensor expects its own times, which then go on.
        truths = [truth for truth in all_truths if is_due(truth.time_us, period_us)]
        times_us = itertools.count(period_us, period_us)

        def measure(model: typing.Any = model, truths: typing.Any = truths,
                    times_us: typing.Any = times_us) -> None:
            for truth in truths:
                model.measure(truth._replace(time_us=next(times_us)), STILL)

        bench.measure(name, measure, len(truths), world.step_us / period_us)


def _conversion(
    bench: _Bench, configuration: Configuration, steps: typing.Sequence[typing.Sequence[Output]],
) -> None:
    """Measure both ways of all messages of a step."""
    from px4_sim_ros.messages import codecs
    from px4_sim_ros.messages.publications import Publications
    from px4_sim_ros.ros.tools.bench_node import deserialiser
    nodes = configuration.graph
    publications = Publications(nodes, configuration.world)

    def messages() -> list[dict[str, bytes]]:
        return [dict(itertools.chain.from_iterable(map(publications.of, outputs)))
                for outputs in steps]

    found = messages()
    per_step = sum(map(len, found)) / len(found)
    bench.measure('messages, written', messages, per_step * len(steps), per_step)
    # Who acts in a step reads what is due to it, and nothing else.
    step_us, periods_us = configuration.world.step_us, configuration.world.periods_us
    read = []
    for outputs, present in zip(steps, found):
        for name, spec in nodes.nodes.items():
            if is_due(outputs[0].time_us, period_of(spec, configuration.world)):
                read += [(topic, present[topic]) for topic in spec.inputs
                         if topic in present and name != 'manager' and topic != graph.CLOCK]
    decoders = {name: codecs.decoder(topic, deserialiser(topic.type))
                for name, topic in nodes.topics.items()}
    bench.measure('messages, read', lambda: [decoders[name](data) for name, data in read],
                  len(read), len(read) / len(steps))
    hops = sum(len(nodes.subscribers(t.name)) * step_us / t.period_us(step_us, periods_us)
               for t in nodes.topics.values())
    _middleware(bench, found[-1]['imu/data_raw'], hops)


def _middleware(bench: _Bench, data: bytes, hops: float) -> None:
    """Measure the way from a publisher to a subscription within a process.

    :param data: a serialised Imu
    :param hops: how many there are in a step
    """
    from px4_sim_ros.ros.framework.session import ros_session
    from px4_sim_ros.ros.tools.bench_node import called_hop, polled_hop
    with ros_session():
        with polled_hop(data) as hop:
            bench.measure('middleware, polled', hop, 1.0, hops)
        with called_hop(data) as hop:
            bench.measure('middleware, by executor', hop, 1.0, hops)


def _link(
    bench: _Bench, configuration: Configuration, measured: typing.Sequence[tuple[int, Inputs]],
) -> None:
    """Measure codec and socket."""
    bridge = block_configuration(configuration, 'hil_bridge')
    hil_frames = HilFrames(typing.cast(BlockConfiguration[HilParameters], bridge))
    decoder = HilDecoder()

    def frames() -> list[bytes]:
        hil_frames.reset()
        found = []
        for time_us, inputs in measured:
            found.append(hil_frames.of(time_us, inputs))
            hil_frames.keep(inputs)
        return found

    bench.measure('codec, encoder', frames, len(measured))
    answers = Answers(1, [0.7] * 16)
    sent = frames()
    replies = [answers.to(data) for data in sent]
    bench.measure('codec, decoder', lambda: [decoder.controls(data) for data in replies],
                  len(replies))
    bench.measure('trivial peer alone', lambda: [answers.to(data) for data in sent], len(sent))
    control = ['--control', '0.7']
    for name, options in (('socket', ['--echo', str(len(replies[0]))]),
                          ('socket, with the trivial peer', control)):
        _measure_exchanges(bench, name, options, sent[:_EXCHANGES])


def _measure_exchanges(
    bench: _Bench, name: str, options: typing.Sequence[str], sent: typing.Sequence[bytes],
) -> None:
    with contextlib.ExitStack() as stack:
        exchange = _exchange_with(options, stack)
        bench.measure(name, lambda: [exchange(data) for data in sent], len(sent))


def _exchange_with(
    options: typing.Sequence[str], stack: contextlib.ExitStack,
) -> typing.Callable[[bytes], bytes]:
    """Return what sends and waits for the answer, as the server of the link does.

    :param stack: ends what was started
    """
    listener = stack.enter_context(socket.create_server(('127.0.0.1', 0)))
    listener.settimeout(_ACCEPT_TIMEOUT_S)
    peer = Child('the other side', own_module(
        'px4_sim_ros.bench.trivial_peer', '--port', str(listener.getsockname()[1]), *options))
    stack.callback(peer.stop)
    link = stack.enter_context(listener.accept()[0])
    link.setblocking(False)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(data: bytes) -> bytes:
        link.send(data)
        if not select.select([link], [], [], _EXCHANGE_TIMEOUT_S)[0]:
            raise RuntimeError('the other side of the socket is silent')
        return link.recv(65536)

    return exchange


def measure(share_s: float, rounds: int) -> dict[str, Cost]:
    """Return the cost of each part alone.

    :param share_s: wall time for each part
    """
    bench = _Bench(share_s, rounds)
    bench.measure(CALIBRATION, calibration)
    configuration = load_configuration(None, {})
    flown = scripted_flight.fly(configuration, _STEPS)
    _models(bench, configuration, flown.truths)
    _conversion(bench, configuration, flown.outputs)
    _link(bench, configuration, flown.measured)
    # Again: the machine may have become another one.
    before = bench.costs[CALIBRATION]
    bench.measure(CALIBRATION, calibration)
    bench.costs[CALIBRATION] = Cost(min(before.us, bench.costs[CALIBRATION].us), 0.0)
    return bench.costs


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Write JSON into the file that the last argument names.

    The first is the wall time for each part, the second how many rounds that is.
    """
    share_s, rounds, path = sys.argv[1:] if arguments is None else arguments
    costs = measure(float(share_s), int(rounds))
    result = {'costs': costs, 'integrators_us': {
        name: dynamics_us(name, _flights(int(rounds))) for name in INTEGRATOR_NAMES}}
    pathlib.Path(path).write_text(json.dumps(result), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
