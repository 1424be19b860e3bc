# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The line to a flight controller: a serial device, or UDP. It may be cut, and come back."""
from __future__ import annotations

import contextlib
import errno
import grp
import os
import re
import select
import socket
import termios
import time
import tty
import typing

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import US_PER_S

AUTOPILOTS_ON_LINES = 'udp:HOST:PORT', 'serial:DEVICE:BAUD'
"""How a line is named."""
MEASURED = 'controls_interval_ms', 'controls_age_ms', 'round_trip_ms'
"""Durations that are measured on a line: intervals of controls by the controller's own clock, the
age of those that have answered a step, and the way there and back. Each is its median, 99th
percentile and the greatest, in ms, and a histogram."""
FIGURES = (*MEASURED, *(name.replace('_ms', '_histogram') for name in MEASURED),
           'late_controls', 'missed_periods')
"""What is known of a line: besides how many intervals were more than twice the mean, and how
many steps had their samples sent more than twice their period after those of the one before."""
_SHAPE = re.compile(r'(udp):([^:]+):([0-9]{1,5})|(serial):(.+):([0-9]{1,7})')
_BITS_OF_A_BYTE = 10             # with start and stop
# A HIL_SENSOR each step, and as much again for all else.
_STEP_BYTES = 2 * 77
_MOST_BYTES = 65536
_LAST_PORT = 65535
# Wall time between two attempts to open a device that was unplugged.
_AGAIN_S = 0.5


def is_line(name: str) -> bool:
    return _SHAPE.fullmatch(name) is not None


class _Autopilots(tuple[str, ...]):
    """Those with a name, and all that are at the end of a line."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or is_line(str(name))


STARTED = 'embedded', 'px4'
"""The autopilots that are started."""
AUTOPILOTS = _Autopilots((*STARTED, 'none', *AUTOPILOTS_ON_LINES))
"""All; the last two stand for a line to a flight controller."""


class Line:
    """Reads and writes without waiting; a cut line takes what is written, and gives nothing."""

    def __init__(self) -> None:
        self._number: int | None = None          # of what is open
        self._unsent = b''
        self._failed_s = -_AGAIN_S

    def _open(self) -> int:
        raise NotImplementedError

    def _number_or_again(self) -> int | None:
        if self._number is None and time.monotonic() - self._failed_s >= _AGAIN_S:
            with self._cutting():
                self._number = self._open()
        return self._number

    @contextlib.contextmanager
    def _cutting(self) -> typing.Iterator[None]:
        """Close what is open after an error that is not that of a full buffer."""
        try:
            yield
        except BlockingIOError:
            pass
        except ConnectionRefusedError:
            pass                 # of an earlier datagram: the other program does not run yet
        except OSError:
            self.close()
            self._failed_s = time.monotonic()

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to read."""
        number = self._number_or_again()
        if number is None:
            time.sleep(timeout_s)
        else:
            select.select([number], [], [], timeout_s)

    def read(self) -> bytes:
        """Return the bytes that have come, b'' for none."""
        with self._cutting():
            if (number := self._number_or_again()) is not None:
                if data := os.read(number, _MOST_BYTES):
                    return data
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        return b''

    def write(self, frame: bytes) -> bool:
        """Write a frame whole, or return that there is no room for it."""
        if (number := self._number_or_again()) is None:
            return True
        with self._cutting():
            if self._unsent:
                self._unsent = self._unsent[os.write(number, self._unsent):]
            if not self._unsent:
                self._unsent = frame[os.write(number, frame):]
                return True
        return self._number is None

    def close(self) -> None:
        """Close it; it is opened again when it is used."""
        if self._number is not None:
            os.close(self._number)
            self._number, self._unsent = None, b''


class UdpLine(Line):
    """Datagrams to and from one address."""

    def __init__(self, host: str, port: int) -> None:
        """See that there is such an address."""
        super().__init__()
        if not 0 < port <= _LAST_PORT:
            raise ParameterError(f'udp:{host}:{port}: the port must be 1 to {_LAST_PORT}')
        try:
            self._address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
        except OSError as error:
            raise ParameterError(f'udp:{host}:{port}: {error.strerror}') from error

    def _open(self) -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            opened.setblocking(False)
            opened.connect(self._address)
            return opened.detach()


class SerialLine(Line):
    """A serial device, or a pseudo terminal."""

    def __init__(self, device: str, baud: int, needed_bytes_s: int) -> None:
        """See that the rate is one, and enough.

        :param needed_bytes_s: what the frames of a simulated second take
        """
        super().__init__()
        self._device, self._rate = device, getattr(termios, f'B{baud}', None)
        rates = sorted(int(name[1:]) for name in dir(termios) if re.fullmatch(r'B[1-9]\d*', name))
        enough = [rate for rate in rates if rate >= needed_bytes_s * _BITS_OF_A_BYTE]
        if self._rate is None or baud not in enough:
            raise ParameterError(
                f'serial:{device}:{baud}: must be a rate that carries {needed_bytes_s} bytes/s: '
                + ', '.join(map(str, enough)))
        if os.path.exists(device) and not os.access(device, os.R_OK | os.W_OK):
            raise ParameterError(f'serial:{device}:{baud}: you may not read and write it: its group'
                                 f' is {grp.getgrgid(os.stat(device).st_gid).gr_name}')

    def _open(self) -> int:
        number = os.open(self._device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            tty.setraw(number)
            settings = termios.tcgetattr(number)
            settings[4] = settings[5] = self._rate
            termios.tcsetattr(number, termios.TCSANOW, settings)
        except termios.error as error:
            os.close(number)
            raise OSError(*error.args) from error
        return number


def line_to(name: str, step_us: int) -> Line:
    """Return the line to a flight controller, which is opened when it is first used.

    :raises ParameterError: there can be no such line, or it cannot carry the frames
    """
    return line_of(name, _STEP_BYTES * US_PER_S // step_us)


def line_of(name: str, needed_bytes_s: int) -> Line:
    """Return the line with a name; it is opened when it is first used.

    :param needed_bytes_s: what the frames of a simulated second take
    :raises ParameterError: it is none, or cannot carry them
    """
    found = _SHAPE.fullmatch(name)
    if found is None:
        raise ParameterError(f"{name!r}: must be {' or '.join(AUTOPILOTS_ON_LINES)}")
    if found[1]:
        return UdpLine(found[2], int(found[3]))
    return SerialLine(found[5], int(found[6]), needed_bytes_s)
