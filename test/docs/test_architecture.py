"""docs/architecture.md has the rooms and the frames of the code."""
import pathlib
import re
import tomllib
import types

from px4_sim_ros.messages.codecs import CODECS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / 'docs' / 'architecture.md').read_text(encoding='utf-8')
# A frame that depends on a parameter is that of its default.
SAMPLE = types.SimpleNamespace(direction='down')
TWISTS = {'ground_truth/odom', 'visual_odometry'}      # those in the frame of the child


def rows(name):
    """Return the cells of the table that follows `<!-- name -->`."""
    table = re.search(f'<!-- {name} -->\n(.*?)<!-- end -->', PAGE, re.S)[1]
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.splitlines()[2:]]


def test_the_rooms_are_those_of_the_contract():
    contracts = tomllib.loads((ROOT / 'pyproject.toml').read_text(encoding='utf-8'))[
        'tool']['importlinter']['contracts']
    layers, = (contract['layers'] for contract in contracts if contract['type'] == 'layers')
    assert [room.strip('`') for room, _ in rows('rooms')] == layers


def test_the_frames_are_those_of_the_messages():
    told = {(topic, frame.strip('`')) for frame, _, content in rows('frames')
            for topic in re.findall(r'`([\w/]+)`', content) if topic in CODECS}
    frames = set()
    for topic, codec in CODECS.items():
        message = codec.new(None if topic != 'range' else SAMPLE)
        if hasattr(message, 'header') and message.header.frame_id:
            frames.add((topic, message.header.frame_id))
        if topic in TWISTS:
            frames.add((topic, message.child_frame_id))
    assert told == frames


def test_what_has_no_frame():
    sentence = re.search(r'^(`.*) have no frame\.', PAGE, re.M)[1]
    assert set(re.findall(r'`([\w/]+)`', sentence)) == {
        topic for topic, codec in CODECS.items()
        if topic != 'range' and not getattr(
            getattr(codec.new(None), 'header', None), 'frame_id', '')}
