"""The node `player`: recorded actuator commands in the place of the bridge."""
from __future__ import annotations

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.timebase import seconds_text
from px4_sim_ros.recording.bag.bag_reader import BagReader
from px4_sim_ros.recording.bag.run_description import BagError
from px4_sim_ros.ros.base import LoopNode
from px4_sim_ros.step.graph import COMMAND


class PlayerNode(LoopNode):
    """Ends each step with the command that ended it in the recording.

    It waits for the same measurements as the bridge, so the lockstep is the same.
    """

    def configure(self) -> None:
        """See that there is such a bag."""
        try:
            self._bag = BagReader(self.configuration.own.bag)
        except BagError as error:
            raise ParameterError(f'player.bag: {error}') from error

    def activate(self) -> None:
        """Begin with the first command; the bag is read as time goes on, for it may be long."""
        self._commands = (m for m in self._bag.messages() if m.topic == COMMAND)
        self._held_us = 0

    def values(self, inputs: dict[str, bytes]) -> dict[str, bytes]:
        """Return the bytes: what was measured does not matter."""
        return inputs

    def step(self, time_us: int, inputs: dict[str, bytes]) -> None:
        """Publish the command of this time; at the end of the recording hold the step."""
        command = next(self._commands, None)
        if command is None or command.time_us != time_us:
            self._held_us = time_us
        else:
            self.say_bytes(COMMAND, command.data)

    def holds(self) -> str:
        """Return that the recording is over, once it is."""
        if not self.active or not self._held_us:
            return ''
        return f'the recording has no command for t = {seconds_text(self._held_us)}'
