# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A PX4 without lockstep, started as a flight controller in HITL is, and a line to it.

It needs what `make px4_sitl_nolockstep` builds in PX4_DIR. The line goes through a process of its
own (`px4_controller.py udp|serial FOLDER`), which can cut it. All is in real time: where the user
may, it goes before what else runs.
"""
import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import tty

import pytest

BUILD = pathlib.Path(os.environ.get('PX4_DIR') or '/none', 'build', 'px4_sitl_nolockstep')
NEEDS_NO_LOCKSTEP = pytest.mark.skipif(
    not (BUILD / 'bin' / 'px4').exists(),
    reason='PX4_DIR does not point to a PX4 in which `make px4_sitl_nolockstep` was built')

FIRST = ['sh', '-c', 'echo -20 >/proc/self/autogroup; exec nice -n -20 "$@"', 'first'
         ] if os.geteuid() == 0 else []
"""Words before a command that has to keep real time, in a session of its own."""


def on_cores(*, of_board):
    """Return words before a command: a board has a processor of its own, which is the last core."""
    *others, last = sorted(os.sched_getaffinity(0))
    cores = [last] if of_board else others
    return ['taskset', '--cpu-list', ','.join(map(str, cores))] if others else []


def with_clock(runs_s):
    """Return words before a PX4 whose clock begins at a time, as that of a board at 0."""
    words = ['unshare', '--fork', '--time', '--monotonic', f'{runs_s - int(time.monotonic())}']
    is_possible = not subprocess.run([*words, 'true'], capture_output=True, check=False).returncode
    return words if is_possible else []


# As a board has it for HITL with an Iris; outputs of a SITL build are PWM_MAIN_FUNCn, on a board
# HIL_ACT_FUNCn.
PARAMETERS = {
    'SYS_HITL': 1, 'SYS_AUTOSTART': 1001, 'MAV_TYPE': 2, 'CBRK_SUPPLY_CHK': 894281,
    'SENS_IMU_MODE': 1, 'EKF2_MULTI_IMU': 0, 'IMU_GYRO_RATEMAX': 800,
    'CA_AIRFRAME': 0, 'CA_ROTOR_COUNT': 4,
    'CA_ROTOR0_PX': 0.1515, 'CA_ROTOR0_PY': 0.245, 'CA_ROTOR0_KM': 0.05,
    'CA_ROTOR1_PX': -0.1515, 'CA_ROTOR1_PY': -0.1875, 'CA_ROTOR1_KM': 0.05,
    'CA_ROTOR2_PX': 0.1515, 'CA_ROTOR2_PY': -0.245, 'CA_ROTOR2_KM': -0.05,
    'CA_ROTOR3_PX': -0.1515, 'CA_ROTOR3_PY': 0.1875, 'CA_ROTOR3_KM': -0.05,
    **{f'PWM_MAIN_FUNC{i}': 100 + i for i in range(1, 5)}}
# In the order of its own start scripts.
_MODULES = '''dataman start
load_mon start
rc_update start
sensors start -h
commander start -h
pwm_out_sim start -m hil
navigator start
ekf2 start
land_detector start multicopter
mc_hover_thrust_estimator start
flight_mode_manager start
mc_pos_control start
mc_att_control start
mc_rate_control start
control_allocator start
'''


class Cable:
    """The line, `udp` or `serial`, in a process of its own."""

    def __init__(self, kind, folder):
        self._process = subprocess.Popen(
            [*FIRST, sys.executable, __file__, kind, folder], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.name, self.mavlink = (self._process.stdout.readline().strip() for _ in range(2))

    def _ask(self, verb):
        self._process.stdin.write(f'{verb}\n')
        self._process.stdin.flush()
        assert self._process.stdout.readline() == f'{verb}\n'

    def cut(self):
        self._ask('cut')

    def mend(self):
        self._ask('mend')

    def close(self):
        self._process.communicate(timeout=20)


class UdpCable:
    """Datagrams from the simulator to a port of the controller, and back."""

    def __init__(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(('127.0.0.1', 0))
            self._port = free.getsockname()[1]
        self._near, self._far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._near.bind(('127.0.0.1', 0))
        self.name = f'udp:127.0.0.1:{self._near.getsockname()[1]}'
        self.is_cut = False
        self._simulator = None
        self._wake, self._waker = socket.socketpair()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def mavlink(self):
        return f'mavlink start -u {self._port} -r 1000000 -m onboard'

    def _run(self):
        while True:
            ready = select.select([self._near, self._far, self._wake], [], [])[0]
            if self._wake in ready:
                return
            if self._near in ready:
                data, self._simulator = self._near.recvfrom(65536)
                if not self.is_cut:
                    self._far.sendto(data, ('127.0.0.1', self._port))
            if self._far in ready:
                with contextlib.suppress(ConnectionRefusedError):      # it does not listen yet
                    data = self._far.recv(65536)
                    if not self.is_cut:
                        self._near.sendto(data, self._simulator)

    def cut(self):
        self.is_cut = True

    def mend(self):
        self.is_cut = False

    def close(self):
        self._waker.send(b'end')
        self._thread.join()
        for each in (self._near, self._far, self._wake, self._waker):
            each.close()


class SerialCable:
    """Two pseudo terminals; that of the simulator goes away when it is cut, as when unplugged."""

    def __init__(self, folder):
        self._link = folder / 'ttySIM'
        self.name = f'serial:{self._link}:921600'
        self._far, other = os.openpty()
        for number in (self._far, other):
            tty.setraw(number)
        self._tty = os.ttyname(other)          # kept open: PX4 opens it again and again
        self._other, self._near = other, None
        self._lock = threading.Lock()
        self._wake, self._waker = os.pipe()
        self.mend()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def mavlink(self):
        return f'mavlink start -d {self._tty} -b 921600 -r 90000 -m config'

    def _run(self):
        while True:
            near = self._near
            ready = select.select([n for n in (near, self._far, self._wake) if n is not None],
                                  [], [], 0.02)[0]
            if self._wake in ready:
                return
            with self._lock:
                for source, sink in ((near, self._far), (self._far, self._near)):
                    if source in ready and source in (self._near, self._far):
                        with contextlib.suppress(OSError):     # the simulator does not read it yet
                            data = os.read(source, 65536)
                            if sink is not None and select.select([], [sink], [], 0)[1]:
                                os.write(sink, data)

    def cut(self):
        with self._lock:
            os.close(self._near)
            self._near = None
            self._link.unlink()

    def mend(self):
        with self._lock:
            self._near, other = os.openpty()
            tty.setraw(other)
            tty.setraw(self._near)
            self._link.symlink_to(os.ttyname(other))
            self._name_holder, previous = other, getattr(self, '_name_holder', None)
            if previous is not None:
                os.close(previous)

    def close(self):
        os.write(self._waker, b'end')
        self._thread.join()
        for number in (self._far, self._other, self._near, self._name_holder, self._wake,
                       self._waker):
            if number is not None:
                os.close(number)


@contextlib.contextmanager
def controller(folder, instance, cable, runs_s=0, **parameters):
    """Start a PX4 in a folder at the end of a cable; yield the file that has its console.

    :param runs_s: what its clock says then
    """
    values = {**PARAMETERS, 'MAV_SYS_ID': instance + 1, **parameters}
    script = folder / 'start'
    script.write_text('\n'.join([
        '. px4-alias.sh', 'param select parameters.bson',
        *(f'param set {name} {value}' for name, value in values.items() if value is not None),
        _MODULES, cable.mavlink, 'mavlink boot_complete', '']))
    console = folder / 'console'
    with console.open('wb') as output:
        process = subprocess.Popen(
            [*FIRST, *on_cores(of_board=True), *with_clock(runs_s), BUILD / 'bin' / 'px4', '-d',
             '-i', str(instance), '-s', script, BUILD / 'etc'],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            yield console
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            with contextlib.suppress(FileNotFoundError):
                pathlib.Path(f'/tmp/px4-sock-{instance}').unlink()


def main(kind, folder):
    """Be a cable until the input ends."""
    cable = UdpCable() if kind == 'udp' else SerialCable(pathlib.Path(folder))
    with contextlib.closing(cable):
        print(cable.name, cable.mavlink, sep='\n', flush=True)
        for line in sys.stdin:
            getattr(cable, line.strip())()
            print(line, end='', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
