# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Damages what the package reads, and sees that each command takes it or refuses it in a sentence.

`python test/fuzz.py KIND,KIND SEED FIRST COUNT FOLDER` tries inputs FIRST to FIRST + COUNT - 1 of
each kind in this process, in which nothing flies, and prints what was wrong as JSON. An input
depends on its kind, the seed and its number only. FOLDER is empty; with FUZZ_KEEP, another folder,
what has failed is kept there. `test_fuzz.py` is its test.
"""
import argparse
import contextlib
import copy
import faulthandler
import importlib
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
import typing
import warnings

import bags
import campaigns
import comparison_flight
import gazebo_world
import ulog_file
import yaml

LONGEST_S = 20.0           # of an input, on a busy machine
MOST_BYTES = 500 << 20     # above what is loaded when the inputs begin
LONGEST_SENTENCE = 400     # without the names of files
# What no sentence for a user has.
INTERNALS = re.compile(
    r'Traceback|\bat 0x|NoneType|\b\w+Error\b|<class|object is not|has no attribute|'
    r'positional argument|unhashable|not subscriptable|numpy|dtype|\bnan\b.*\bNaN\b')


# What is said of files that are used in part, and of vehicles that are strange.
TOLD = re.compile('; it was read up to|could be read$|lines can be used; the first|implausible'
                  '|; this flight is without |: not as in Gazebo: ')


class HungError(BaseException):
    """An input takes too long."""


# What is damaged.

TEXTS = (
    '', ' ', 'x', 'iris', 'none', '~', 'null', 'true', 'no', '-1', '0', '1', '7', '1.5', '1e308',
    '-1e308', '5e-324', '.nan', '.inf', '-.inf', '1' + '0' * 400, '9' * 5000, str(2 ** 63),
    '0x_', '0b', '2024-02-31', '2024-01-01', '12:30:45', '!!int x', '!!bool x', '!!map [1]',
    '!!set {a}', '!!binary x', '!!timestamp x', '!!python/object:os.system x', '!x y', '&a [*a]',
    '*a', '*no', '<<: {a: 1}', '=1+1', '@', '%', '`', '"', "'", '"\\ud800"', '"\\x00"', '|', '>',
    '- 1', '? 1', ': 1', '[', ']', '{', '}', '[]', '{}', '[[]]', '{a: {}}', '{1: 2}', '{[1]: 2}',
    '[1, 2]', '[x, y, z]', '[1, 2, 3, 4]', '[.nan, 0, 0]', '[1e308, 1e308, 1e308]', 'a' * 3000,
    'ä' * 300, 'a b\tc', '\u202e', '\x1b[31m', '\u2028', '[' * 60 + ']' * 60, '[' * 3000,
    '{a: ' * 40 + '1' + '}' * 40, '[' + ', '.join(['1'] * 5000) + ']')
VALUES = (None, True, False, 0, 1, -1, 3, 10 ** 400, 2 ** 63, -2 ** 31, 1.5, -0.0, 1e308, -1e308,
          5e-324, 1e-300, 1e30, float('nan'), float('inf'), '', 'x', 'iris', 'none', '=1',
          'a' * 3000,
          'a\nb', 'ä', '\x1b[31m', [], {}, [[]], [None], [1], [1, 2], [1.0, 2.0, 3.0], ['x'] * 3,
          [float('nan')] * 3, [1e308] * 3, [0.0, 0.0, 0.0], [0] * 2000, {'a': 1}, {1: 2}, {'x': {}},
          {'': None}, {'above': 1}, {'uniform': [0, 1]}, [{'x': 1}], {'a.b': 1})


def places(content: typing.Any, found: list | None = None) -> list:
    """Return all containers in a content, with the keys or indices in them."""
    found = [] if found is None else found
    for key in (content if isinstance(content, dict) else range(len(content or ()))):
        found.append((content, key))
        if isinstance(content[key], dict | list):
            places(content[key], found)
    return found


def damaged_content(chance: random.Random, text: str, others: list[str]) -> str:
    """Return a YAML text in which values, names or entries are others."""
    content = yaml.safe_load(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        found = places(content) if content else []
        if not found:
            break
        parent, key = chance.choice(found)
        how = chance.randrange(7)
        if how < 3:
            parent[key] = copy.deepcopy(chance.choice(VALUES))     # it may be damaged as well
        elif how == 3:
            del parent[key]
        elif how == 4 and isinstance(parent, dict):
            parent[chance.choice((f'{key}x', str(key)[:-1], 'x', 5, None, 'set', 'name'))] = (
                parent[key] if chance.random() < 0.5 else parent.pop(key))
        elif how == 5:
            there = yaml.safe_load(chance.choice(others))
            source, name = chance.choice(places(there) or [(parent, key)])
            parent[key] = source[name]
        elif isinstance(parent[key], list) and parent[key]:
            parent[key].append(parent[key][0])
        elif isinstance(parent[key], int | float):
            parent[key] = parent[key] * chance.choice((-1, 0.0, 1e-9, 1e3, 1e9, 1e200, 1e306))
    return yaml.dump(content, sort_keys=False, allow_unicode=True)


def damaged_text(chance: random.Random, text: str, others: list[str]) -> str:
    """Return a text in which a value, a line or some characters are others."""
    lines = text.splitlines(keepends=True) or ['']
    how, at = chance.randrange(8), chance.randrange(len(lines))
    if how < 3:
        found = list(re.finditer(r'(?<=[:,\[-] )[^\s,\[\]{}#]+', text))
        if found:
            one = chance.choice(found)
            return text[:one.start()] + chance.choice(TEXTS) + text[one.end():]
    if how == 3:
        lines[at:at + chance.randrange(1, 4)] = []
    elif how == 4:
        lines.insert(chance.randrange(len(lines) + 1), lines[at])
    elif how == 5:
        lines[at] = ' ' * chance.randrange(6) + lines[at]
    elif how == 6:
        return text[:chance.randrange(len(text) + 1)]
    else:
        place = chance.randrange(len(text) + 1)
        return text[:place] + chance.choice(TEXTS) + text[place + chance.randrange(3):]
    return ''.join(lines)


def damaged_bytes(chance: random.Random, data: bytes) -> bytes:
    """Return data that is cut, or in which some bytes are others, more, or fewer."""
    data, how = bytearray(data), chance.randrange(6)
    at = chance.randrange(len(data) + 1)
    if how == 0:
        return bytes(data[:at])
    if how == 1:
        del data[at:at + chance.randrange(1, 200)]
    elif how == 2:
        data[at:at] = chance.randbytes(chance.randrange(1, 50))
    elif how == 3:
        data[at:at + 100] = bytes(100)
    else:
        for _ in range(chance.choice((1, 1, 5, 50))):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


class Files:
    """Files of the package of one kind, damaged."""

    def __init__(self, folder: str, *commands: tuple[str, ...], within: str = '') -> None:
        from px4_sim_ros.spec.resources import config_directory
        self._commands = commands
        self._texts = [path.read_text() for path in sorted(
            (config_directory() / folder).glob('*.yaml'))] or [
                (config_directory() / f'{folder}.yaml').read_text()]

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Write the file; return the command that reads it."""
        damage = damaged_content if chance.random() < 0.6 else damaged_text
        text = damage(chance, chance.choice(self._texts), self._texts)
        data = text.encode(errors='surrogatepass')
        file = path / 'x.yaml'
        file.write_bytes(damaged_bytes(chance, data) if chance.random() < 0.05 else data)
        return [word.format(f'./{file.name}') for word in chance.choice(self._commands)]


FLY = 'fly', '--mode', 'core'
NO_AUTOPILOT = *FLY, '--autopilot', 'none'


class Scenes(Files):
    """Scene files, damaged, some of which name a file of heights."""

    NAMES = 'x.npy', 'x.png', 'x.tif', 'y.npy', '/dev/null', '.'

    def __init__(self) -> None:
        import numpy as np
        from PIL import Image
        super().__init__('scenes', (*FLY, '--scene', '{}'), (*NO_AUTOPILOT, '--scene', '{}'))
        heights = np.linspace(0.0, 3.0, 48).reshape(6, 8)
        image = Image.fromarray((80 * heights).astype('uint8'))
        self._heights = {}
        for name, save in (('x.npy', lambda file: np.save(file, heights)),
                           ('x.png', lambda file: image.save(file, 'png')),
                           ('x.tif', lambda file: image.save(file, 'tiff'))):
            save(file := io.BytesIO())
            self._heights[name] = file.getvalue()
        ground = {'file': 'x.npy', 'spacing_m': 5.0, 'white_m': 10.0, 'black_m': -1.0,
                  'middle_m': [1.0, 2.0], 'colour': [0.4, 0.5, 0.3], 'friction': 0.5}
        ball = {'name': 'ball', 'shape': 'sphere', 'radius_m': 1.0, 'place_m': [0, 9, 1],
                'roll_pitch_yaw_deg': [0, 0, 30], 'label': 'toy', 'friction': 0.4}
        self._texts.append(yaml.dump({
            'ground': ground, 'objects': [ball], 'sun': {'azimuth_deg': 10.0, 'sky': 0.3}}))
        self._texts += [self._texts[-1].replace('x.npy', name) for name in self.NAMES[1:]]

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Write the files; return the command that reads them."""
        for name, data in self._heights.items():
            (path / name).write_bytes(
                damaged_bytes(chance, data) if chance.random() < 0.3 else data)
        return super().__call__(chance, path)


class Options:
    """Words of all commands, and what is none."""

    def __init__(self) -> None:
        from px4_sim_ros.cli.command_line import COMMANDS, STEERING
        from px4_sim_ros.step import graph
        self._options: dict[str, list[argparse.Action]] = {}
        for name in COMMANDS.keys() - STEERING.keys() - {'view', 'visualizer', 'pilot'}:
            function = name.replace('-', '_')
            parser = argparse.ArgumentParser()
            importlib.import_module(f'px4_sim_ros.cli.{function}').add_arguments(parser)
            self._options[name] = parser._actions
        self._names = [
            'iris', 'plane', 'hover', 'square', 'trio', 'gnss_lost', 'wind_limit', 'cheap', 'px4',
            'core', 'separate', 'max', '0', '-1', '1.5', 'nan', 'inf', '1e400', '', ' ', '9' * 5000,
            'a' * 5000, './', '/', '/dev/null', '/proc/self/mem', 'x.html', 'x.yaml', 'a=b', '=',
            'imu=os:system', 'ä', '\x1b[31m', 'a\nb', '--', '-x',
            *(f'{node}.{key}={value}' for node in (*graph.NODES, 'imo', '')
              for key in ('seed', 'gyro_noise_density', 'x')
              for value in ('1', '-1', 'nan', '[', '{}', 'x' * 300))]

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Return a command."""
        name = chance.choice(sorted(self._options))
        words = [name] if chance.random() < 0.97 else [chance.choice(self._names)]
        for action in chance.choices(self._options[name], k=chance.randrange(1, 5)):
            if '--help' in action.option_strings and chance.random() < 0.9:
                continue
            words += action.option_strings[-1:]
            if action.nargs != 0 and chance.random() < 0.95:
                choices = [*map(str, action.choices)] if action.choices else []
                words += chance.choices([*self._names, *3 * choices, *20 * choices[:1]],
                                        k=chance.choice((1, 1, 1, 2)))
        return words


class Recordings:
    """The recording of half a second, damaged, and what reads one."""

    COMMANDS = (('export', '{}'), ('compare', '{}', '{}'), ('replay', '{}'), ('refly', '{}'),
                ('report', '{}'), ('validate', '{}', '--vehicle', 'iris'),
                ('fly', '--mode', 'core', '--expect', '{}'))

    def __init__(self, folder: pathlib.Path) -> None:
        comparison_flight.record_flight(folder / 'whole', 125)
        self._files = {file.name: file.read_bytes() for file in (folder / 'whole').iterdir()}
        shutil.rmtree(folder / 'whole')
        self._run = bags.description().to_yaml()

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Write the recording; return the command that reads it."""
        files = dict(self._files)
        if chance.random() < 0.3:
            damage = damaged_content if chance.random() < 0.7 else damaged_text
            files['run.yaml'] = damage(chance, self._run, [self._run]).encode(
                errors='surrogatepass')
        else:
            name = chance.choice(sorted(files))
            files[name] = damaged_bytes(chance, files[name])
        (path / 'bag').mkdir()
        for name, data in files.items():
            (path / 'bag' / name).write_bytes(data)
        if chance.random() < 0.05:
            (path / 'bag' / chance.choice(sorted(files))).unlink()
        weights = [10, 10, 3, 2, 1, 3, 3]
        command, = chance.choices(self.COMMANDS, weights)
        return [word.format('./bag') for word in command]


class Logs:
    """Logs of PX4 and of motion capture, damaged."""

    def __init__(self, folder: pathlib.Path) -> None:
        here = pathlib.Path(__file__).parent
        import test_readers
        ulog_file.write(folder / 'x.ulg', test_readers.topics(3.0),
                        test_readers.quad_parameters().items(), [('ver_hw', 'PX4_TEST')])
        self._logs = [('x.ulg', (folder / 'x.ulg').read_bytes()),
                      ('x.ulg', (here / 'real' / 'data' / 'x500_v2_cut.ulg').read_bytes())]
        (folder / 'x.ulg').unlink()

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Write the log; return the command that reads it."""
        name, data = chance.choice(self._logs)
        # What a log begins with is what is read of all else.
        part = chance.choice((len(data), 2000, 20_000))
        (path / name).write_bytes(damaged_bytes(chance, data[:part]) + data[part:])
        return chance.choice((
            ['validate', f'./{name}', '--vehicle', 'x500', '--report', 'x.html'],
            ['identify', f'./{name}', '--vehicle', 'x500', '--out', 'y.yaml']))


class Worlds:
    """A world of Gazebo, damaged."""

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Write the file; return the command that reads it."""
        gazebo_world.write_model(path)
        text = gazebo_world.WORLD
        for _ in range(chance.choice((1, 1, 2, 5))):
            how, other = chance.randrange(5), chance.choice((*TEXTS, '<b', '&lt;', '&a;', '0 0 0'))
            places = list(re.finditer((
                r'(?<=>)[^<>\n]+(?=<)', r'(?<=")[^"]*(?=")', r"(?<=<)\w+", r'\n[^\n]*', '$')[how],
                text))
            if not places:
                continue
            one = chance.choice(places)
            if how == 3:                   # a line goes elsewhere, or is there twice
                other = chance.choice(('', 2 * one[0], chance.choice(places)[0]))
            elif how == 4:
                one, other = chance.choice(list(re.finditer('<', text))), '<!DOCTYPE a><'
                other = chance.choice((other, '<model name="x">' * 3000 + '<', ''))
            text = text[:one.start()] + other + text[one.end():]
        data = text.encode(errors='surrogatepass')
        (path / 'x.sdf').write_bytes(damaged_bytes(chance, data) if chance.random() < 0.1 else data)
        return [*NO_AUTOPILOT, '--scene', './x.sdf']


class Folders:
    """The folder of a campaign, edited by hand."""

    def __init__(self, folder: pathlib.Path) -> None:
        import concurrent.futures

        from px4_sim_ros.campaign import conduct
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            conduct.conduct(campaigns.folder_of(folder / 'c'), executor, campaigns.row_of, 1,
                            lambda progress: None)
        path = [3, 0.1, [[0.0, 0.0, 0.1 * i] for i in range(5)]]
        (folder / 'c' / 'paths.jsonl').write_text(json.dumps(path) + '\n')
        self._files = {file.name: file.read_text() for file in (folder / 'c').iterdir()
                       if file.suffix in ('.json', '.jsonl')}
        shutil.rmtree(folder / 'c')

    def __call__(self, chance: random.Random, path: pathlib.Path) -> list[str]:
        """Write the folder; return the command that reads it."""
        name = chance.choice(sorted(self._files))
        text = self._files[name]
        if chance.random() < 0.3:
            text = damaged_text(chance, text, [])
        else:
            lines = text.splitlines() if name.endswith('l') else [text]
            at = chance.randrange(len(lines))
            content = [json.loads(lines[at])]
            parent, key = chance.choice(places(content))
            parent[key] = chance.choice([value for value in VALUES if value != 10 ** 400])
            lines[at] = json.dumps(content[0])
            text = '\n'.join(lines) + '\n'
        (path / 'c').mkdir()
        for file in self._files:
            (path / 'c' / file).write_text(
                text if file == name else self._files[file], errors='surrogatepass')
        return ['campaign', *chance.choice((
            ['report', './c'], ['compare', './c', './c'], ['refly', './c', '1']))]


KINDS: dict[str, typing.Callable[[pathlib.Path], typing.Callable]] = {
    'scenarios': lambda folder: Files(
        'scenarios', (*FLY, '--scenario', '{}'), (*NO_AUTOPILOT, '--scenario', '{}')),
    'vehicles': lambda folder: Files(
        'vehicles', ('check-vehicle', '{}'), (*NO_AUTOPILOT, '--vehicle', '{}')),
    'missions': lambda folder: Files(
        'missions', (*FLY, '--mission', '{}'), (*NO_AUTOPILOT, '--mission', '{}')),
    'campaigns': lambda folder: Files('campaigns', ('campaign', '{}')),
    'scenes': lambda folder: Scenes(), 'worlds': lambda folder: Worlds(),
    'fleets': lambda folder: Files(
        'fleets', (*FLY, '--fleet', '{}'), (*NO_AUTOPILOT, '--fleet', '{}')),
    'profiles': lambda folder: Files('profiles', (*FLY, '--profile', '{}')),
    'simulation': lambda folder: Files('simulation', (*FLY, '--params-file', '{}')),
    'options': lambda folder: Options(),
    'recordings': Recordings, 'logs': Logs, 'folders': Folders}


# What reads it.


def _let_nothing_fly() -> None:
    """Let commands come up to where they would fly, fit or draw."""
    from px4_sim_ros.cli import campaign, control, fly, refly
    from px4_sim_ros.flight import replay
    from px4_sim_ros.model.errors import RunError
    from px4_sim_ros.real import identification, pages

    def stop(*arguments: object, **named: object) -> typing.NoReturn:
        raise RunError('it does not fly here')
    fly.Flight.fly = refly.Flight.fly = replay.run = stop
    campaign.opened = stop
    pages.validated = identification.identified = stop
    control.run = lambda options: 0


def fault(words: list[str], seconds: float) -> str:
    """Carry out a command; return what is wrong with how it ends, '' if nothing is."""
    from px4_sim_ros.cli import command_line
    from px4_sim_ros.model.errors import RunError
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command_line.main(words)
    except SystemExit as end:
        code = end.code
    except RunError as error:
        return '' if str(error) == 'it does not fly here' else traceback.format_exc()
    except HungError:
        return f'HUNG {traceback.format_exc()}'
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    lines = [line for line in err.getvalue().splitlines() if not TOLD.search(line)]
    said = '\n'.join(lines)
    if code not in (0, 1, 2):
        return f'exit code {code}: {said}'
    if code == 2 and len(lines) != 1:
        return f'{len(lines)} lines: {said}'
    if code == 2 and words[3:5] == ['--scenario', './x.yaml'] and not re.search(
            r'\bx\b|the embedded autopilot ', said):
        return f'it does not say which file: {said}'
    if any(len(line) > LONGEST_SENTENCE for line in lines):
        return f'{max(map(len, lines))} characters: {said}'
    if INTERNALS.search(said):
        return f'internals: {said}'
    return ''


def most_megabytes():
    """Return the most memory of this process: getrusage would count that of its parent, too."""
    status = pathlib.Path('/proc/self/status').read_text()
    return int(re.search(r'^VmHWM:\s+(\d+) kB$', status, re.M)[1]) >> 10


def main(kinds: str, seed: str, first: str, count: str, folder: str) -> None:
    """Try inputs; print how many, and what was wrong."""
    os.chdir(folder)
    here = pathlib.Path()
    faulthandler.enable()
    # Nothing else reports a calculation that overflows.
    warnings.simplefilter('error', RuntimeWarning)
    makers = {kind: KINDS[kind](here) for kind in kinds.split(',')}
    _let_nothing_fly()
    for words in ['check-vehicle', 'iris'], ['fly', '--mission', '/'], ['campaign', 'x']:
        fault(words, 100.0)                            # loads what all need

    def hung(number: int, frame: object) -> None:
        raise HungError
    signal.signal(signal.SIGALRM, hung)
    pages = int(pathlib.Path('/proc/self/statm').read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    faults, slowest = [], (0.0, '')
    for kind, number in ((kind, number) for kind in makers
                         for number in range(int(first), int(first) + int(count))):
        path = here / f'{kind}_{seed}_{number}'
        path.mkdir()
        os.chdir(path)
        words = makers[kind](random.Random(f'{kind}/{seed}/{number}'), pathlib.Path())
        print(path.name, words if len(str(words)) < 500 else words[0], file=sys.stderr, flush=True)
        started_s = time.monotonic()
        found = fault(words, LONGEST_S)
        slowest = max(slowest, (time.monotonic() - started_s, path.name))
        os.chdir('..')
        if found:
            faults.append([path.name, [word[:100] for word in words], found[-1500:]])
            if keep := os.environ.get('FUZZ_KEEP'):
                shutil.copytree(path, f'{keep}/{path.name}', dirs_exist_ok=True)
        shutil.rmtree(path)
    print(json.dumps({'faults': faults, 'slowest': slowest, 'inputs': len(makers) * int(count),
                      'megabytes': most_megabytes()}))


if __name__ == '__main__':
    main(*sys.argv[1:])
