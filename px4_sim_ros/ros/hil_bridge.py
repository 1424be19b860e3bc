"""The node `hil_bridge`: joins the measurements of a step and exchanges them for a command."""
from __future__ import annotations

import time
import typing

from std_msgs.msg import String

from px4_sim_ros.config.configuration import load_vehicle
from px4_sim_ros.mavlink.battery_link import BatteryLink
from px4_sim_ros.mavlink.hil_codec import HilEncoder, StepMeasurements
from px4_sim_ros.mavlink.hil_server import HilServer, check_port_is_free, port_of
from px4_sim_ros.mavlink.link_state import LinkState
from px4_sim_ros.mavlink.lockstep import Lockstep
from px4_sim_ros.ros import qos
from px4_sim_ros.ros.base import LoopNode
from px4_sim_ros.ros.diagnostics import OK, WARN
from px4_sim_ros.ros.wall_timer import create_wall_timer
from px4_sim_ros.step.graph import COMMAND

# Wall time between two looks at the link while no exchange is under way.
_ATTEND_S = 0.02
_WORTH_A_WARNING = LinkState.STALLED, LinkState.WAITING


class HilBridgeNode(LoopNode):
    """The simulator's side of PX4's HIL link.

    The server outlives a deactivation: a PX4 whose connection is closed never comes back, so
    it is kept until it goes by itself. Clean-up closes it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._held: tuple[int, bytes] | None = None     # the step that waits for its command
        self._is_begun = False                          # whether it is still to be waited for
        self._server: HilServer | None = None
        self._lockstep: Lockstep | None = None
        self._battery_link: BatteryLink | None = None
        self._published_state: LinkState | None = None
        self._state_publisher = self.create_publisher(String, 'hil/state', qos.LATCHED)
        self._attend_timer: typing.Any = None

    def configure(self) -> None:
        """Read the vehicle and see that the port is free."""
        self._vehicle = load_vehicle(self.configuration.world.vehicle)
        self._encoder = HilEncoder()
        # The topics of each kind, in the order of PX4's ids of the sensors.
        self._topics: dict[str, list[str]] = {}
        for name in self.spec.inputs:
            self._topics.setdefault(self.graph.topics[name].kind, []).append(name)
        hil = self.configuration.own
        check_port_is_free(hil.host, port_of(hil.instance))

    def activate(self) -> None:
        """Listen for an autopilot; one that is there already belongs to the run before."""
        self._first_imu = True           # whether it measured in the last step
        if self._server is None:
            hil = self.configuration.own
            # Alone in its process it leaves the cores to the others.
            self._server = HilServer(
                hil.host, port_of(hil.instance), stays_awake=bool(self.beside))
            self._lockstep = Lockstep(self._server, hil, self.configuration.world.step_us)
            self._battery_link = BatteryLink(hil.instance, self._vehicle.cells)
            # Nothing else would call while no step is under way.
            self._attend_timer = create_wall_timer(self, _ATTEND_S, self._attend)
        else:
            self._lockstep.reset()
        self._report_events()

    def deactivate(self) -> None:
        """Hold no step any more."""
        self._held, self._is_begun = None, False

    def release(self) -> None:
        """Let the autopilot go and free the port."""
        if self._server is None:
            return
        if self._attend_timer is not None:
            self.destroy_timer(self._attend_timer)
            self._attend_timer = None
        self._server.close()
        self._server = None
        self._battery_link.close()

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Send what was measured at `time_us`, and publish the command that comes back.

        Other nodes of the process have their turn before it is waited for.
        """
        first_imu = self._topics['imu/data_raw'][0] in inputs
        if first_imu is not self._first_imu:
            self._first_imu = first_imu
            self._lockstep.expect_gap()
        frames = self._encoder.step(
            time_us, self._measured(inputs), self.configuration.world.geoid_height_m,
            self.configuration.own.satellites)
        self._lockstep.begin(time_us, frames)
        self._held, self._is_begun = (time_us, frames), True
        if 'battery_state' in inputs:
            self._battery_link.send(inputs['battery_state'], self._server.peer_host)
        if not self.beside:
            self._exchange()

    def finish(self) -> None:
        """Wait for the command of a step that was begun, and publish it."""
        if self._is_begun:
            started_s = time.perf_counter()
            self._exchange()
            self._busy_s += time.perf_counter() - started_s

    def _measured(self, inputs: dict[str, typing.Any]) -> StepMeasurements:
        """Return what was measured; each instance of a sensor has its place."""
        topics, get = self._topics, inputs.get
        fixes = [inputs[fix]._replace(velocity_enu=inputs[velocity]) if fix in inputs else None
                 for fix, velocity in zip(topics['gps/fix'], topics['gps/vel'])]
        flow = get('optical_flow')
        if flow is not None:
            flow = flow._replace(
                period_us=self.configuration.world.period_us('optical_flow'))
        return StepMeasurements(
            [get(name) for name in topics['imu/data_raw']], [get(name) for name in topics['mag']],
            get('baro'), fixes, get('airspeed'), get('range'), flow, get('visual_odometry'))

    def _attend(self) -> None:
        """Look after the link between two exchanges."""
        if self._is_begun:
            self.finish()
        elif self._held is not None:
            self._exchange()
        else:
            self._lockstep.service_idle_link()
            self._report_events()

    def _exchange(self) -> None:
        time_us, frames = self._held
        self._is_begun = False
        reply = self._lockstep.exchange(time_us, frames)
        # Others wait for the command, nobody for the sentences.
        if reply is not None:
            self._held = None
            self.tell(COMMAND, time_us, self._vehicle.rotor_speed_references_rad_s(
                reply.controls, reply.armed))
        self._report_events()

    def _report_events(self) -> None:
        for sentence in self._lockstep.take_events():
            if self._lockstep.state in _WORTH_A_WARNING:
                self.get_logger().warning(sentence)
            else:
                self.get_logger().info(sentence)
        if self._published_state is not self._lockstep.state:
            self._published_state = self._lockstep.state
            self._state_publisher.publish(String(data=self._published_state.value))

    def holds(self) -> str:
        """Return what the link waits for while it holds a step."""
        if self._held is None or self._is_begun:
            return ''
        port = port_of(self.configuration.own.instance)
        if self._lockstep.state is LinkState.WAITING:
            return f'no autopilot is connected to TCP port {port}'
        return f'the autopilot on TCP port {port} is silent, and on_stall is pause'

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Return the state of the link and its counters."""
        if self._lockstep is None:
            return super().status()
        state = self._lockstep.state
        level = WARN if state in _WORTH_A_WARNING else OK
        return level, f'link {state.value}', dict(self._lockstep.status())
