"""Where Rerun data goes: a viewer that is opened, one that runs already, or a file."""
from __future__ import annotations

import importlib.util
import pathlib
import typing

from px4_sim_ros.core.parameters import ParameterError
from px4_sim_ros.resources import check_writable

if typing.TYPE_CHECKING:
    import rerun

OPEN = 'rerun'
# The node that shows a graph that runs.
NODE = 'rerun_view'
_SUFFIX, _URL = '.rrd', 'rerun+http'
# A viewer that does not take its data holds nobody up for longer.
_FLUSH_S = 3.0
# Of wall time.
_LIVE_PORTION_S, _FILE_PORTION_S = 0.1, 1.0


class ViewerError(RuntimeError):
    """The viewer does not take its data."""


class RerunTarget:
    """A place for the recordings of one or several runs."""

    def __init__(self, text: str) -> None:
        """Read what was asked for.

        :param text: `rerun`, the name of an `.rrd` file, or the URL of a viewer that runs
        :raises ParameterError: it is none of these, or the file cannot be written, or the
            package rerun-sdk is missing
        """
        self._text = text
        self._path = pathlib.Path(text).expanduser() if text.endswith(_SUFFIX) else None
        if self._path is not None:
            check_writable('viewer', self._path)
        elif text != OPEN and not text.startswith(_URL):
            raise ParameterError(
                f'viewer {text!r}: must be {OPEN}, the name of a file that ends with {_SUFFIX},'
                f' or a URL such as {_URL}://127.0.0.1:9876/proxy')
        if importlib.util.find_spec('rerun') is None:
            raise ParameterError(
                f'viewer {text!r}: the package rerun-sdk is not installed; `pip install'
                ' rerun-sdk` installs it')
        # Eyes want it at once; a file is smaller when it is written in large portions.
        self.portion_s = _FILE_PORTION_S if self._path else _LIVE_PORTION_S
        self._runs = 0

    def open_run(self, name: str) -> rerun.RecordingStream:
        """Return the stream for the next run; each run is a recording of its own.

        A further run goes into a file of its own, `flight_2.rrd`.

        :param name: what the viewer calls it
        :raises ViewerError: the viewer cannot be started, or the file not be written
        """
        import rerun

        from px4_sim_ros.viewing.rerun_log import APPLICATION
        self._runs += 1
        stream = rerun.RecordingStream(APPLICATION)
        try:
            if self._path is not None:
                stream.save(self._path_of_run())
            elif self._text == OPEN:
                # One that is open already is used again: it outlives the simulation.
                stream.spawn(hide_welcome_screen=True)
            else:
                stream.connect_grpc(self._text)
        except (OSError, RuntimeError, ValueError) as error:
            raise ViewerError(f'viewer {self._text}: {error}') from error
        stream.send_recording_name(name)
        return stream

    def close_run(self, stream: rerun.RecordingStream) -> None:
        """Hand over what is left of a run.

        :raises ViewerError: the viewer does not take it
        """
        try:
            stream.flush(timeout_sec=_FLUSH_S)
        except (RuntimeError, ValueError) as error:
            raise ViewerError(
                f'viewer {self._text}: it has not taken all data within {_FLUSH_S:g} s') from error
        finally:
            stream.disconnect()

    def _path_of_run(self) -> pathlib.Path:
        path = self._path
        return path if self._runs == 1 else path.with_stem(f'{path.stem}_{self._runs}')
