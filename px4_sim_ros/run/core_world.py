"""Mode `core`: the world in one loop in this process, joined to an autopilot."""
from __future__ import annotations

import sys
import threading
import time
import typing

from px4_sim_ros.config.compile_ahead import prepare_compiler
from px4_sim_ros.config.configuration import Configuration
from px4_sim_ros.config.recording import RecorderParameters
from px4_sim_ros.config.run_control import ManagerParameters
from px4_sim_ros.mavlink.battery_link import BatteryLink
from px4_sim_ros.mavlink.hil_codec import ActuatorControls, HilEncoder, StepMeasurements
from px4_sim_ros.mavlink.hil_server import HilServer, port_of
from px4_sim_ros.mavlink.lockstep import HilParameters, LinkState, Lockstep
from px4_sim_ros.mavlink.pilot import SetPoint
from px4_sim_ros.model.body.dynamics import DynamicsParameters
from px4_sim_ros.model.timebase import US_PER_S, is_due
from px4_sim_ros.run.flight_record import WorldStatus
from px4_sim_ros.step import graph
from px4_sim_ros.step.pacing import Pacer, PaceWatch
from px4_sim_ros.step.simulation import Simulation, Step

if typing.TYPE_CHECKING:       # it needs rclpy, which a run without a recording does without
    from px4_sim_ros.run.core_recorder import CoreRecorder

_HELD_STEP_WAIT_S = 0.05


def make_simulation(configuration: Configuration) -> Simulation:
    """Build the world with the wind and all sensors of the graph."""
    prepare_compiler()
    models = {
        name: graph.load(graph.spec_of(name).model)(
            name, configuration.nodes[name], configuration.world)
        for name in configuration.graph.sensors
    }
    wind = models.pop('wind', None)
    return Simulation(
        configuration.world, configuration.vehicle,
        configuration.of_node('dynamics', DynamicsParameters), models, wind)


def hil_frames(
    encoder: HilEncoder, configuration: Configuration, time_us: int,
    measurements: typing.Mapping[str, typing.Any],
) -> bytes:
    """Return what is sent to the autopilot; `measurements` are those that are due, by name."""
    def of(kind: str) -> list[typing.Any]:
        return [measurements.get(name) for name in configuration.graph.instances[kind]]

    return encoder.step(
        time_us,
        StepMeasurements(
            of('imu'), of('magnetometer'), measurements.get('barometer'), of('gps'),
            measurements.get('airspeed'), measurements.get('range_finder'),
            measurements.get('optical_flow'), measurements.get('visual_odometry')),
        configuration.world.geoid_height_m,
        configuration.of_node('hil_bridge', HilParameters).satellites)


Observer = typing.Callable[[Step, ActuatorControls], None]


class CoreWorld:
    """Runs the world until it is stopped."""

    def __init__(
        self, configuration: Configuration, observer: Observer | None = None,
        recorder: CoreRecorder | None = None,
    ) -> None:
        """Listen for the autopilot.

        :param observer: called after each step with what came of it and the reply
        :param recorder: records the run; it is closed with the world
        :raises PortTakenError: the port of the link is in use
        """
        self._configuration = configuration
        self._observer = observer
        self._recorder = recorder
        self._hil = configuration.of_node('hil_bridge', HilParameters)
        self._simulation = make_simulation(configuration)
        self._server = HilServer(
            self._hil.host, port_of(self._hil.instance), stays_awake=True)
        self._battery_link = BatteryLink(self._hil.instance, configuration.vehicle.cells)
        self._lockstep = Lockstep(self._server, self._hil, configuration.world.step_us)
        self._steps = 0
        self._stepping_s = 0.0          # wall time since the first step was answered
        self._paced_s = 0.0
        self._busy_s = {'models': 0.0, 'hil_bridge': 0.0}
        self._unrecorded: tuple[Step, tuple[float, ...], str] | None = None

    def status(self) -> WorldStatus:
        """Return the counters of the run."""
        return WorldStatus(
            self._steps * self._configuration.world.step_us / US_PER_S, self._stepping_s,
            self._steps, self._lockstep.status(), self._busy_s, self._paced_s)

    def wait_until_seen(self) -> None:
        """Nothing: this world is seen from the first step on."""

    def close(self) -> None:
        """Free the port, and finish the recording."""
        self._server.close()
        self._battery_link.close()
        self._record()
        if self._recorder is not None:
            self._recorder.close()

    @property
    def recording(self) -> str:
        """The folder of the recording, '' for none."""
        if self._recorder is None:
            return ''
        return self._configuration.of_node('recorder', RecorderParameters).folder

    def check_end(self) -> None:
        """Nothing: a failure at the end was raised by `close`."""

    def publish_event(self, text: str) -> None:
        """Record an event of the pilot."""
        if self._recorder:
            self._recorder.add_event(text)

    def publish_set_point(self, set_point: SetPoint) -> None:
        """Nothing: this mode has no topics."""

    def run(self, stop: threading.Event) -> None:
        """Step until `stop` is set."""
        configuration = self._configuration
        speed_factor = configuration.of_node('manager', ManagerParameters).speed_factor
        step_us = configuration.world.step_us
        pacer, pace_watch = Pacer(speed_factor, step_us), PaceWatch(step_us)
        references = (0.0,) * len(configuration.vehicle.rotors)
        encoder = HilEncoder()
        first_s = 0.0
        while not stop.is_set():
            started_s = time.perf_counter()
            step = self._simulation.step(references)
            modelled_s = time.perf_counter()
            time_us = step.truth.time_us
            frames = hil_frames(encoder, configuration, time_us, step.measurements)
            self._lockstep.begin(time_us, frames)
            self._battery_link.tell(step.battery, self._server.peer_host)
            self._record()         # the step before, while the autopilot is about this one
            reply = self._answer(time_us, frames, stop)
            if reply is None:
                break
            references = configuration.vehicle.rotor_speed_references_rad_s(
                reply.controls, reply.armed)
            answered_s = time.perf_counter()
            if self._steps:      # the first step waits for the autopilot to connect
                self._busy_s['models'] += modelled_s - started_s
                self._busy_s['hil_bridge'] += answered_s - modelled_s
            self._steps += 1
            if self._recorder:
                self._unrecorded = step, references, self._lockstep.state.value
            if self._observer:
                self._observer(step, reply)
            observed_s = time.perf_counter()
            pacer.wait()
            now_s = time.perf_counter()
            self._paced_s += now_s - observed_s
            first_s = first_s or now_s
            self._stepping_s = now_s - first_s
            if sentence := pace_watch.remark(speed_factor, self._steps, pacer.lost_s, True):
                print(sentence, file=sys.stderr, flush=True)

    def _record(self) -> None:
        """Record the step that was complete last, if it is not."""
        if self._recorder is None or self._unrecorded is None:
            return
        step, references, link_state = self._unrecorded
        self._unrecorded = None
        self._recorder.add_step(step, references, link_state)
        if is_due(step.truth.time_us, US_PER_S):
            self._recorder.add_status(self.status())

    def _answer(
        self, time_us: int, frames: bytes, stop: threading.Event,
    ) -> ActuatorControls | None:
        """Return the reply that ends a step, or None when `stop` is set."""
        while not stop.is_set():
            reply = self._lockstep.exchange(time_us, frames)
            for sentence in self._lockstep.take_events():
                if self._lockstep.state in (LinkState.STALLED, LinkState.WAITING):
                    print(sentence, file=sys.stderr, flush=True)
            if reply is not None:
                return reply
            self._lockstep.wait(_HELD_STEP_WAIT_S)
        return None
