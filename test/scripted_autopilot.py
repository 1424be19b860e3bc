"""An autopilot that follows a script: controls are a fixed function of time."""
import math
import socket
import threading

from pymavlink.dialects.v20 import common as mavlink

from px4_sim_ros.mavlink.hil_server import port_of

ARMED_FROM_US = 1_000_000


def scripted_controls(time_us):
    """Return mode and controls: still for a second, then a flight with much turning."""
    if time_us < ARMED_FROM_US:
        return 1, [0.0] * 16
    t = time_us * 1e-6
    motors = [0.72 + 0.04 * math.sin(1.3 * t + i) + 0.01 * math.sin(7.0 * t * (i + 1))
              for i in range(4)]
    return 129, motors + [0.0] * 12


class ScriptedAutopilot:
    """Connects as PX4 does and answers every HIL_SENSOR, in a thread."""

    def __init__(self, instance, controls=scripted_controls):
        self._controls = controls
        self._socket = socket.create_connection(('127.0.0.1', port_of(instance)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sensors = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _run(self):
        mav = mavlink.MAVLink(None, srcSystem=1, srcComponent=1)
        while True:
            try:
                data = self._socket.recv(65536)
            except ConnectionResetError:
                return
            if not data:
                return
            for message in mav.parse_buffer(data) or ():
                if message.get_type() == 'HIL_SENSOR':
                    self.sensors += 1
                    mode, controls = self._controls(message.time_usec)
                    reply = mav.hil_actuator_controls_encode(
                        message.time_usec, controls, mode, 1).pack(mav)
                    try:
                        self._socket.sendall(reply)
                    except (BrokenPipeError, ConnectionResetError):
                        return


def connect(instance, controls=scripted_controls, timeout_s=20.0):
    """Return a scripted autopilot, as soon as somebody listens on the port."""
    import time
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            return ScriptedAutopilot(instance, controls)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline_s, 'nobody listens'
            time.sleep(0.02)
