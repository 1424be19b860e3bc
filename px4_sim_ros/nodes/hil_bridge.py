"""The node `hil_bridge`: joins the measurements of a step and exchanges them for a command."""
from __future__ import annotations

import typing

from rclpy.clock import Clock, ClockType
from std_msgs.msg import String

from px4_sim_ros.configuration import load_vehicle
from px4_sim_ros.convert import measurements as convert
from px4_sim_ros.convert.truth import fill_rotors, new_rotors
from px4_sim_ros.mavlink.hil_codec import HilEncoder
from px4_sim_ros.mavlink.hil_server import HilServer, check_port_is_free, port_of
from px4_sim_ros.mavlink.lockstep import LinkState, Lockstep
from px4_sim_ros.nodes import qos
from px4_sim_ros.nodes.base import LoopNode
from px4_sim_ros.nodes.diagnostics import OK, WARN

# Wall time between two looks for an autopilot while a step is held.
_HELD_STEP_RETRY_S = 0.02
_WORTH_A_WARNING = LinkState.STALLED, LinkState.WAITING


class HilBridgeNode(LoopNode):
    """The simulator's side of PX4's HIL link."""

    def configure(self) -> None:
        """Read the vehicle and see that the port is free."""
        self._vehicle = load_vehicle(self.configuration.world.vehicle)
        self._encoder = HilEncoder()
        self._command = new_rotors(len(self._vehicle.rotors))
        hil = self.configuration.own
        check_port_is_free(hil.host, port_of(hil.instance))
        self._server: HilServer | None = None

    def activate(self) -> None:
        """Listen for an autopilot."""
        hil = self.configuration.own
        self._held: tuple[int, bytes] | None = None
        self._server = HilServer(hil.host, port_of(hil.instance))
        self._lockstep = Lockstep(self._server, hil, self.configuration.world.step_us)
        self._published_state: LinkState | None = None
        self._state_publisher = self.create_publisher(String, 'hil/state', qos.LATCHED)
        self._publish_state()
        # No step is under way while one is held, so nothing else would call again.
        self._retry = self.create_timer(
            _HELD_STEP_RETRY_S, self._try_held_step,
            clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._retry.cancel()

    def deactivate(self) -> None:
        """Let the autopilot go and free the port."""
        if self._server is None:
            return      # the port was taken
        self.destroy_timer(self._retry)
        self.destroy_publisher(self._state_publisher)
        self._server.close()
        self._server = None

    def step(self, time_us: int, inputs: dict[str, typing.Any]) -> None:
        """Send what was measured at `time_us` and publish the command that comes back."""
        mag, baro = inputs.get('mag'), inputs.get('baro')
        fix, velocity = inputs.get('gps/fix'), inputs.get('gps/vel')
        frames = self._encoder.step(
            convert.imu_from(inputs['imu/data_raw']),
            convert.magnetic_field_from(mag) if mag is not None else None,
            convert.pressure_from(baro) if baro is not None else None,
            convert.gnss_from(fix, velocity) if fix is not None else None,
            self.configuration.world.geoid_height_m, self.configuration.own.satellites)
        self._exchange(time_us, frames)

    def _try_held_step(self) -> None:
        if self._held is not None:
            self._exchange(*self._held)

    def _exchange(self, time_us: int, frames: bytes) -> None:
        reply = self._lockstep.exchange(time_us, frames)
        self._report_events()
        if reply is None:
            if self._held is None:
                self._held = time_us, frames
                self._retry.reset()
            return
        if self._held is not None:
            self._held = None
            self._retry.cancel()
        references = self._vehicle.rotor_speed_references_rad_s(reply.controls, reply.armed)
        self.outputs['actuators/command'].publish(
            fill_rotors(self._command, time_us, references))

    def _report_events(self) -> None:
        for sentence in self._lockstep.take_events():
            if self._lockstep.state in _WORTH_A_WARNING:
                self.get_logger().warning(sentence)
            else:
                self.get_logger().info(sentence)
        self._publish_state()

    def _publish_state(self) -> None:
        """Publish the state of the link when it has changed."""
        if self._published_state is not self._lockstep.state:
            self._published_state = self._lockstep.state
            self._state_publisher.publish(String(data=self._published_state.value))

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Return the state of the link and its counters."""
        state = self._lockstep.state
        level = WARN if state in _WORTH_A_WARNING else OK
        return level, f'link {state.value}', dict(self._lockstep.status())
