# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The block `hil_bridge`: measurements become HIL frames, and the autopilot's reply a command."""
from __future__ import annotations

import contextlib
import functools
import math
import typing

import psutil

from px4_sim_ros.jit.code_cache import BURST, IS_PLAIN, is_kept
from px4_sim_ros.link.hil.battery_link import BatteryLink
from px4_sim_ros.link.hil.codec import ActuatorControls
from px4_sim_ros.link.hil.frames import TRUTH_PERIOD_US, HilFrames
from px4_sim_ros.link.hil.link_state import (
    MAX_HEIGHT,
    MOVED,
    WORTH_A_WARNING,
    HilParameters,
    LinkReport,
    LinkState,
)
from px4_sim_ros.link.hil.lockstep import Lockstep
from px4_sim_ros.link.hil.server import HilServer, port_of
from px4_sim_ros.link.ports import check_port_is_free
from px4_sim_ros.model.faults.action import Faults
from px4_sim_ros.model.faults.autopilot import AutopilotOff, AutopilotPaused
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.rotation import difference
from px4_sim_ros.model.timebase import is_due
from px4_sim_ros.px4.boot_watch import process_at
from px4_sim_ros.px4.shared_core import OtherCores, SharedCore, shared_core_of
from px4_sim_ros.step.block import Block, BlockConfiguration, BlockStatus, Inputs, Outputs
from px4_sim_ros.step.graph import COMMAND, FAULTS, TOPICS_OF_PX4

if typing.TYPE_CHECKING:       # a process that has no motion does without it
    from px4_sim_ros.link.hil.burst import Burst, Bursts, Hearer
    from px4_sim_ros.step.slot import BlockSlot


class _Link(typing.NamedTuple):
    """What is open while the block is in use."""

    server: HilServer
    lockstep: Lockstep
    battery: BatteryLink

    def counters(self) -> dict[str, str]:
        """Return the counters of the exchange, and the figures of a line."""
        return self.lockstep.status() | self.server.figures()


class HilBlock(Block):
    """The simulator's side of PX4's HIL link.

    The server outlives a reset: a PX4 whose connection is closed never comes back, so it is kept
    until it goes by itself. `close` closes it.
    """

    has_autopilot = False
    """Whether the autopilot is in this process."""

    def __init__(self, configuration: BlockConfiguration[HilParameters]) -> None:
        """See that the port is free."""
        super().__init__(configuration)
        hil = self._hil = configuration.parameters
        self._hil_frames = HilFrames(configuration)
        self._bursts: Bursts | None = None
        self.steps_ahead = 0                # that compiled code has taken
        self._has_faults = FAULTS in configuration.graph.nodes[configuration.name].inputs
        self._begins_again = hil.on_waiting == 'begin_again'
        self._link: _Link | None = None
        self._counters: dict[str, str] = {}     # of a link that was closed
        self._frames = b''                  # of the step that waits for its command
        self._forget_motion()
        self._is_exchanging = False         # a step was sent and not answered
        self._is_held = False
        self._is_on_core = False            # with the step, since the last one
        self._other_cores = OtherCores()
        self._reported_state: LinkState | None = None
        # What the host sets, before `reset`.
        self.is_alone = True                # the process waits for no other autopilot
        self.shared_core = SharedCore(shared_core_of(hil.instance))    # if the parameters say so
        self.hearer: Hearer | None = None
        """Reads what the autopilot has said beside its reply."""
        self.on_state: typing.Callable[[LinkState, int], None] = lambda state, time_us: None
        """Is given the state of the link when it has changed, and the simulated time."""
        if not hil.line:
            check_port_is_free('TCP', hil.host, port_of(hil.instance))

    def reset(self) -> None:
        """Listen for an autopilot; one that is there already belongs to the run before."""
        self._has_first_imu = True          # whether it measured in the last step
        self._forget_motion()
        self._is_exchanging = self._is_held = False
        self._faults: Faults = ()
        self._is_skipped = self._is_off = False      # no exchange: by a scenario
        if self._link is None:
            hil, c = self._hil, self.configuration
            server = self.open_server()
            battery = BatteryLink(hil.instance, c.vehicle.cells, hil.host)
            self._link = _Link(server, Lockstep(
                server, hil, c.world.step_us,
                lambda: battery.heartbeat(server.peer_host),
                has_own_agent=TOPICS_OF_PX4 in c.graph.nodes), battery)
        else:
            self._link.lockstep.reset()
        self._hil_frames.reset()
        self._report(self._link.lockstep.report)

    def _forget_motion(self) -> None:
        self._start_enu: Vector | None = None       # where the vehicle truly stood at first
        self._place_enu: Vector | None = None       # and is
        self._max_up_m = -math.inf

    def begin_again(self, time_us: int) -> None:
        """Hold the next step until another autopilot is there."""
        self._has_first_imu = True
        self.wants_new_begin = False
        self._hil_frames.reset()
        self.link.lockstep.begin_again(time_us)

    def leave(self) -> None:
        """Close the connection; the starter of the autopilot ends it."""
        self._is_exchanging = self._is_held = False
        self.link.lockstep.let_go()
        self._report(self.link.lockstep.report)

    def record_nondeterminism(self, sentence: str) -> None:
        """Record a source of non-repeatability."""
        self.link.lockstep.record_nondeterminism(sentence)

    def open_server(self) -> HilServer:
        """Return where the autopilot connects to, or the line to a flight controller."""
        if self._hil.line:
            from px4_sim_ros.link.hil.board import Board
            from px4_sim_ros.link.hil.flight_controller import FlightController
            return FlightController(
                self._hil.line, self._hil.instance, self.configuration.world.step_us,
                Board(self.configuration.vehicle, sets=self._hil.set_board))
        # Alone in its process it leaves the cores to the others, and so it does to the
        # autopilots that others wait for.
        return HilServer(self._hil.host, port_of(self._hil.instance),
                         stays_awake=self.shares_process and self.is_alone)

    @property
    def link(self) -> _Link:
        """The link; there is one from `reset` to `close`."""
        assert self._link is not None, 'reset comes before the first step'
        return self._link

    def step(self, time_us: int, inputs: Inputs) -> None:
        """Send what was measured at `time_us`; the command comes from `finish`."""
        link = self.link
        if (truth := inputs.get('ground_truth/odom')) is not None:
            self._place_enu = place = truth.position_enu
            self._start_enu = self._start_enu or place
            if place[2] > self._max_up_m:
                self._max_up_m = place[2]
        if self._has_faults:
            self._look_for_faults(inputs[FAULTS])
            if self._is_skipped:
                return
        has_first_imu = self._hil_frames.first_imu in inputs
        if has_first_imu is not self._has_first_imu:
            self._has_first_imu = has_first_imu
            link.lockstep.expect_gap()
        if self._hil.shares_core:
            self._is_on_core = True
            if sentence := self.shared_core.enter():
                link.lockstep.record_nondeterminism(sentence)
        self._frames = self._hil_frames.of(time_us, inputs)
        # One that gets its first step connects before this or while the step is held, as it
        # happens: it gets nothing more in that step.
        is_served = link.lockstep.begin(time_us, self._frames)
        self._is_exchanging = True
        self._hil_frames.keep(inputs)
        if is_served:
            self._serve(time_us, inputs)
            self._hil_frames.make_truth()          # the autopilot works meanwhile

    @property
    def runs_ahead(self) -> bool:
        """Whether compiled code may take the next steps; a class of yours may do anything else."""
        is_own = type(self).step is HilBlock.step and type(self).finish is HilBlock.finish
        return is_own and not self._is_skipped and self._has_first_imu and (
            self.link.lockstep.is_trusted and self._is_compiled)

    @functools.cached_property
    def _is_compiled(self) -> bool:
        """Whether there is machine code: to make it would hold the flight for half a minute."""
        return not IS_PLAIN and is_kept(BURST)

    def prepare_ahead(
        self, time_us: int, slots: typing.Sequence[BlockSlot], until_us: int, values: Inputs,
    ) -> int:
        """Return how many of the steps that follow compiled code can take."""
        link = self.link
        if self._bursts is None:
            from px4_sim_ros.link.hil.burst import Bursts
            # An autopilot in this process looks at no battery.
            has_no_use = self.has_autopilot or self.configuration.vehicle.battery is None
            self._bursts = Bursts(
                self._hil_frames, self.configuration, link.server, link.lockstep, self.hearer,
                None if has_no_use else link.battery)
        return self._bursts.prepare(time_us, slots, until_us, values)

    def run_ahead(self, steps: int, blocks: typing.Sequence[HilBlock]) -> list[Burst]:
        """Take them, of several vehicles in turn, as far as they are as usual."""
        bursts = [block._bursts for block in blocks if block._bursts is not None]
        for its in bursts:
            its.set_up(steps)
        bursts[0].run(bursts)
        found = [burst for its in bursts if (burst := its.took()) is not None]
        for block, burst in zip(blocks, found):
            block._take(burst)
        return found

    def _take(self, burst: Burst) -> None:
        self._max_up_m = max(self._max_up_m, float(burst.places_enu[:, 2].max()))
        self._place_enu = burst.place_enu
        self.steps_ahead += burst.begun
        self._frames, self._is_exchanging = burst.frames, False
        if self.hearer is not None:
            self.hearer.took_steps(burst.last_us)

    def after_sent(self, time_us: int, inputs: Inputs) -> None:
        """Keep what arrives in a later step, and send the state of the battery."""
        self._is_exchanging = True
        self._hil_frames.keep_groups(time_us, inputs)
        self._hil_frames.keep(inputs)
        self._serve(time_us, inputs)

    def _serve(self, time_us: int, inputs: Inputs) -> None:
        link = self.link
        if link.lockstep.wants_truth and is_due(time_us, TRUTH_PERIOD_US):
            self._hil_frames.truth = inputs['ground_truth/odom']
        if 'battery_state' in inputs:
            link.battery.send(inputs['battery_state'], link.server.peer_host)

    def _look_for_faults(self, faults: Faults) -> None:
        """See whether a scenario lets the autopilot stand still, or without power."""
        if faults is not self._faults:
            self._faults = faults
            kinds = {type(fault.action) for fault in faults}
            self._is_off = AutopilotOff in kinds
            self._is_skipped = self._is_off or AutopilotPaused in kinds

    def finish(self, time_us: int) -> Outputs | None:
        """Wait for the reply, and return the command; None while the link holds the step."""
        link = self.link
        if self._is_skipped:
            held = link.lockstep.skip(time_us, is_off=self._is_off)
            self._report(link.lockstep.report)
            return self._command(held)
        reply = link.lockstep.exchange(time_us, self._frames)
        self._is_held = reply is None
        report = link.lockstep.report
        if report.events or report.state is not self._reported_state:
            self._report(report)
        if reply is None:
            return None
        self._is_exchanging = False
        if self.hearer is not None:
            self.hearer.after_reply(time_us)
        self.wants_new_begin = self._begins_again and report.state is LinkState.WAITING
        return self._command(reply)

    def _command(self, reply: ActuatorControls) -> Outputs:
        return {COMMAND: self.configuration.vehicle.references(reply.controls, reply.armed)}

    def idle(self) -> None:
        """Look after the link between two exchanges."""
        if self._link is not None and not self._is_exchanging:
            self._link.lockstep.service_idle_link()
            self._report(self._link.lockstep.report)

    def wait(self, timeout_s: float) -> None:
        """While a step is held: wait for an autopilot, at most `timeout_s`."""
        self.link.lockstep.wait(timeout_s)

    def abort(self) -> None:
        """Release the step that is held."""
        self._is_exchanging = self._is_held = False
        self._leave_core()

    def _leave_core(self) -> None:
        """Share the core no longer, after a last look at how the autopilot runs there."""
        if self._is_on_core:
            self._is_on_core = False
            self.link.lockstep.look_last(self.shared_core.thread)
        self.shared_core.leave()
        self._other_cores.leave()

    def close(self) -> None:
        """Let the autopilot go and free the port."""
        self._leave_core()
        if self._link is not None:
            self._counters = self._link.counters()
            self._link.server.close()
            self._link.battery.close()
            self._link = self._bursts = None

    def counters(self) -> dict[str, str]:
        """Return counters of the link and figures of the motion, also after it was closed."""
        counters = self._link.counters() if self._link is not None else self._counters
        if self._start_enu is None or self._place_enu is None:
            return counters
        moved = difference(self._place_enu, self._start_enu)
        return counters | {MAX_HEIGHT: repr(self._max_up_m - self._start_enu[2]),
                           **{key: repr(part) for key, part in zip(MOVED, moved)}}

    def _report(self, report: LinkReport) -> None:
        state = report.state
        if report.events:
            for event in report.take_events():
                self.log(*event)
        if self._reported_state is not state:
            if state is LinkState.WAITING:
                self._other_cores.leave()
            elif self._reported_state is LinkState.WAITING:
                self._keep_off_its_cores()
            self._reported_state = state
            self.on_state(state, report.time_us)

    def _keep_off_its_cores(self) -> None:
        """Leave the cores of the autopilot that has connected to it, but for one that is shared."""
        peer = self.link.server.peer
        # Alone in its process it is about little, and others have more use for the cores.
        if peer is None or self._hil.shares_core or not self.shares_process:
            return
        with contextlib.suppress(psutil.Error):       # it has just ended
            if (process := process_at(peer)) is not None:
                self._other_cores.keep_off(process)

    def holds(self) -> str:
        """Return the cause for which the link holds a step."""
        if not self._is_held:
            return ''
        where = self._hil.line or f'TCP port {port_of(self._hil.instance)}'
        if self.link.lockstep.is_booting:
            return f'the autopilot on {where} boots'
        if self.link.lockstep.state is LinkState.WAITING:
            return f'no autopilot is connected to {where}'
        return f'the autopilot on {where} is silent, and on_stall is pause'

    def status(self) -> BlockStatus | None:
        """Return the state of the link and its counters."""
        if self._link is None:
            return None
        state = self._link.lockstep.state
        return BlockStatus(state in WORTH_A_WARNING, f'link {state.value}', self.counters())
