# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One flight of the benchmark, in a process of its own.

It flies until there is enough of a hover, and writes figures. Start, boot, take-off and landing
are no part of them.
"""
from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import threading
import time
import typing

from benchmarks import ceiling, peers, worlds
from benchmarks.kinds import CEILING, CEILING_KIND, PEERS, Kind
from benchmarks.machine import Usage
from benchmarks.pilot_process import PilotProcess
from benchmarks.subscriber import OutsideSubscriber
from benchmarks.worlds import Window
from px4_sim_ros.flight.autopilots import start_autopilot
from px4_sim_ros.link.hil.server import port_of
from px4_sim_ros.link.pilot.events import Event
from px4_sim_ros.model.errors import ParameterError, sentence
from px4_sim_ros.model.mission import Hold, Land, Mission, TakeOff
from px4_sim_ros.model.timebase import US_PER_S
from px4_sim_ros.model.vehicle.steady_states import SteadyStates
from px4_sim_ros.model.world import Environment
from px4_sim_ros.process import machine_locks
from px4_sim_ros.process.children import Child, own_module
from px4_sim_ros.process.signals import raise_interrupt, unwrapped
from px4_sim_ros.px4.sitl import (
    ALL_CORES,
    ONE_CORE,
    REPEATABLE,
    Px4,
    check_socket,
    world_parameters,
)
from px4_sim_ros.spec.configuration import Configuration, load_configuration
from px4_sim_ros.spec.flight_spec import FlightSpec, VehicleSpec

_LOOK_S = 0.02
HEIGHT_M = 10.0
# It holds until it has been measured.
_MISSION = Mission('bench', (TakeOff(up_m=HEIGHT_M), Hold(duration_s=1e5), Land()))
# The trivial peer's motors, in shares of those that hover: the vehicle climbs, level, to 27 m
# within 45 s, and comes down as the battery is used up, to the ground at 110 s. That is over an
# Earth at rest: nothing holds it level, and in 20 s it turns over with one that rotates.
_TRIVIAL_SHARE = 1.03
# Longest window in simulated time.
_MOST_S = 90.0


class FlightSettings(typing.NamedTuple):
    """What is flown, and how long."""

    kind: Kind = CEILING_KIND
    instance: int = 0
    px4_dir: str = ''
    px4_schedule: str = ONE_CORE
    ceiling: str = ''              # the compiled server
    jmavsim: str = ''              # the jar
    settle_s: float = 5.0          # simulated time in the air before the window
    least_s: float = 30.0          # simulated time in the window
    least_wall_s: float = 3.0      # wall time in the window
    timeout_s: float = 300.0       # wall time for all

    @property
    def schedule(self) -> str:
        """How PX4 runs in this flight."""
        if self.kind.all_cores:
            return ALL_CORES
        # Flights of peers do not repeat: no other thread than PX4's would let them.
        return ONE_CORE if self.kind.mode in PEERS and self.px4_schedule == REPEATABLE else (
            self.px4_schedule)

    def to_json(self) -> str:
        """Return it as a text."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> FlightSettings:
        """Return it from a text."""
        values = json.loads(text)
        return cls(**values | {'kind': Kind(*values['kind'])})


class FlightError(RuntimeError):
    """A flight could not be measured; the text says why."""


def hover_control(configuration: Configuration) -> float:
    """Return the motor control that hovers at home, with a full battery."""
    environment = Environment.of(configuration.world)
    states = SteadyStates(
        configuration.vehicle, environment.density_kg_m3(0.0), environment.gravity_m_s2(0.0))
    return states.hover_command(states.full_charge())


def _own_name(kind: Kind) -> str:
    """Return the role of this process in a flight."""
    return 'world' if kind.mode == 'core' else 'monitor'


class _Measurement:
    """Waits for the hover and measures it, in a thread of its own."""

    def __init__(self, settings: FlightSettings, world: typing.Any, autopilot: Child) -> None:
        self.stop = threading.Event()
        self.failure = ''
        self.window: Window | None = None
        self.processes: list[dict[str, typing.Any]] = []
        self._settings = settings
        self._log = world.log
        self._autopilot = autopilot
        self._usage = Usage(_own_name(settings.kind))
        self.hovers_from_s: float | None = None       # simulated time
        self._pilot: PilotProcess | None = None
        if settings.kind.autopilot == 'trivial':
            self.hovers_from_s = 0.0
        self._thread = threading.Thread(target=self._run, name='measurement')
        self._thread.start()

    def join(self) -> None:
        self.stop.set()
        self._thread.join()

    def watch(self, pilot: PilotProcess) -> None:
        """Watch the pilot as well."""
        self._pilot = pilot

    def on_event(self, event: Event) -> None:
        """Record the first event at which it hovers."""
        if event.target_enu is not None and self.hovers_from_s is None:
            self.hovers_from_s = event.time_s

    def fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        self.stop.set()

    def _run(self) -> None:
        deadline_s = time.monotonic() + self._settings.timeout_s
        while not self.stop.wait(_LOOK_S):
            if self._autopilot.exit_code is not None:
                self.fail(f'{self._autopilot.name} has ended with exit code'
                          f' {self._autopilot.exit_code}')
            elif self._pilot is not None and self._pilot.failure:
                self.fail(self._pilot.failure)
            elif time.monotonic() > deadline_s:
                self.fail(f'not measured within {self._settings.timeout_s:g} s;'
                          f' simulated time is {self._log.latest_us / US_PER_S:g} s')
            elif self.window is None:
                self._begin_if_hovering()
            elif self._log.covers(self.window):
                self.processes = [usage._asdict() for usage in self._usage.end()]
                self.stop.set()

    def _begin_if_hovering(self) -> None:
        settings = self._settings
        if self.hovers_from_s is None:
            return
        from_us = round((self.hovers_from_s + settings.settle_s) * US_PER_S)
        if self._log.latest_us >= from_us:
            self.window = Window(
                self._log.latest_us, round(settings.least_s * US_PER_S), settings.least_wall_s,
                round(_MOST_S * US_PER_S))
            self._usage.begin()


def measure(settings: FlightSettings) -> dict[str, typing.Any]:
    """Fly and return the figures; end all that was started.

    :raises FlightError: that has failed
    """
    with machine_locks.claim_instances([settings.instance]) as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        overrides: dict[str, typing.Any] = {
            'manager': {'speed_factor': 0.0}, 'hil_bridge': {'instance': settings.instance}}
        if settings.kind.autopilot == 'trivial':
            overrides[''] = {'earth_rate_rad_s': 0.0}
        if settings.kind.recorder:
            overrides.setdefault('', {})['recorder'] = True
            overrides['recorder'] = {'folder': str(folder / 'bag')}
        px4 = None if settings.kind.autopilot != 'px4' else Px4.find(
            settings.px4_dir, settings.schedule)
        configuration = load_configuration(
            None, overrides, base=world_parameters(px4) if px4 else {})
        vehicle = VehicleSpec(configuration, settings.kind.autopilot, px4)
        world = _make_world(settings, vehicle, folder)
        stack.callback(world.close)
        world.wait_until_seen()
        subscriber = None
        if settings.kind.subscriber:
            subscriber = OutsideSubscriber(folder, settings.kind.subscriber)
            stack.callback(subscriber.close)
        autopilot = _start_autopilot(settings, vehicle, folder)
        stack.callback(autopilot.stop)
        measurement = _Measurement(settings, world, autopilot)
        stack.callback(measurement.join)
        if settings.kind.autopilot != 'trivial':
            pilot = PilotProcess(
                settings.instance, _MISSION, measurement.on_event, threading.Event())
            stack.callback(pilot.stop)
            measurement.watch(pilot)
        world.run(measurement.stop)
        misses = world.misses
        # Before the autopilot, which would be missed.
        world.close()
        received: dict[str, int] = {}
        if subscriber is not None and not measurement.failure:
            subscriber.close()
            received = subscriber.counts()
    # Why it ends comes first: a node may end badly just because of it.
    if measurement.failure:
        raise FlightError(measurement.failure)
    world.check_end()
    window = measurement.window
    assert window is not None        # else there is a failure
    figures = world.log.figures(window, configuration.world.step_us)
    return figures._asdict() | {
        'from_s': window.from_us / US_PER_S, 'height_m': round(world.height_m, 2),
        'misses': misses, 'processes': measurement.processes, 'received': received}


def _make_world(
    settings: FlightSettings, vehicle: VehicleSpec, folder: pathlib.Path,
) -> typing.Any:
    kind = settings.kind
    if kind.mode == CEILING:
        return ceiling.CeilingWorld(pathlib.Path(settings.ceiling), vehicle.configuration, folder)
    if kind.mode in PEERS:
        return peers.PeerWorld(kind.mode, settings.instance, settings.jmavsim, folder)
    spec = FlightSpec(kind.mode, (vehicle,))
    return worlds.CoreLog(spec) if kind.mode == 'core' else worlds.GraphLog(spec, folder)


def _start_autopilot(
    settings: FlightSettings, vehicle: VehicleSpec, folder: pathlib.Path,
) -> Child:
    if settings.kind.autopilot == 'trivial':
        control = _TRIVIAL_SHARE * hover_control(vehicle.configuration)
        return Child('the trivial peer', own_module(
            'benchmarks.trivial_peer', '--port', str(port_of(settings.instance)),
            '--system', str(settings.instance + 1), '--control', repr(control)))
    if vehicle.px4 is not None:
        check_socket(settings.instance)
    more = peers.environment(settings.kind.mode) if settings.kind.mode in PEERS else {}
    return start_autopilot(vehicle, folder, environment=more)


def main(arguments: typing.Sequence[str] | None = None) -> int:
    """Fly what the first argument describes and write JSON into the file that is the second."""
    description, path = sys.argv[1:] if arguments is None else arguments
    raise_interrupt()
    try:
        with unwrapped():
            result = measure(FlightSettings.from_json(description))
    except KeyboardInterrupt:
        return 130
    except (ParameterError, OSError, RuntimeError) as error:
        result = {'failure': sentence(error)}
    pathlib.Path(path).write_text(json.dumps(result), encoding='utf-8')
    return 1 if 'failure' in result else 0


if __name__ == '__main__':
    sys.exit(main())
