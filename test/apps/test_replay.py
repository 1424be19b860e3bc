"""A recording is a flight that can be flown again, in every mode, to the last bit."""
import json

import pytest
from commands import command, run, running, wait_for_line

from px4_sim_ros.apps.replay import COMMAND
from px4_sim_ros.recording.bag_reader import BagReader

INSTANCE = 84
MODES = ['core', 'composed', 'separate']
HOP = 'name: hop\nitems:\n  - take_off: {up_m: 1.0}\n  - land: {}\n'


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """Return a function that gives the bag of a short flight in a mode."""
    folder = tmp_path_factory.mktemp('recorded')
    mission = folder / 'hop.yaml'
    mission.write_text(HOP)

    def bag(mode):
        path = folder / mode
        if not path.exists():
            result = run('fly', '--mode', mode, '--mission', mission, '--instance', INSTANCE,
                         '--wind', 'dryden', '--record', path)
            assert result.returncode == 0, result.stderr
            assert result.stderr == ''
        return path
    return bag


@pytest.mark.parametrize('replayed_in', MODES)
@pytest.mark.parametrize('recorded_in', MODES)
def test_a_replay_is_bit_identical(recorded_in, replayed_in, recorded):
    bag = recorded(recorded_in)
    result = run('replay', bag, '--mode', replayed_in)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ''
    messages = sum(m.topic in BagReader(bag).run.graph.topics for m in BagReader(bag).messages())
    assert messages > 5000
    assert f'all {messages} messages that both have are bit-identical' in result.stdout
