# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The description of a run that its bag carries: all that a replay needs."""
from __future__ import annotations

import dataclasses
import functools
import hashlib
import pathlib
import platform
import sys
import typing

import yaml

from px4_sim_ros import __version__
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.own_blocks import OwnBlockRow
from px4_sim_ros.model.vehicle.vehicle import Vehicle
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.recording.bag import schema
from px4_sim_ros.spec.configuration import (
    Configuration,
    flat_parameters,
    load_configuration,
    node_configuration,
)
from px4_sim_ros.spec.files import Files, Kind
from px4_sim_ros.spec.parameter_files import FlatParameters, default_parameters, flat_values
from px4_sim_ros.spec.resources import DUMPER
from px4_sim_ros.spec.run_parameters import RecorderParameters
from px4_sim_ros.step import graph, side_topics
from px4_sim_ros.step.presence import ALWAYS, Presence

# Of what has run in place of a block, among the versions: this, and the name of the block.
_NODE = 'node '
# Numbers may differ in their last bits between versions of these.
_LIBRARIES = 'numba', 'numpy', 'pygeomag', 'pymavlink', 'pyproj'


class BagError(ParameterError):
    """A bag cannot be used; the text is one sentence with its name and the reason."""


@dataclasses.dataclass(frozen=True)
class RunDescription:
    schema_version: int
    mode: str
    autopilot: str
    namespace: str
    vehicle: str                            # the text of the vehicle's file
    mission: str                            # the text of the mission's file, '' for none
    scenario: str                           # the text of the scenario's file, '' for none
    scene: str                              # the text of the scene's file, '' for none
    parameters: dict[str, FlatParameters]   # of all nodes, by name
    versions: dict[str, str]                # of this package, of libraries and of the machine
    joins_us: int | None = 0                # as in Presence: from when to when it was to be
    leaves_us: int | None = None            # in the world of several vehicles
    px4: dict[str, typing.Any] = dataclasses.field(default_factory=dict)
    """Of a PX4 that flies: its `schedule`; `build`, digests by file; and `parameters`, variables of
    the environment that have set some of its parameters. {} for none, and in old recordings."""

    @classmethod
    def of(
        cls, configuration: Configuration, *, mode: str, autopilot: str, namespace: str = '',
        own_classes: typing.Mapping[str, str] | None = None,
        presence: Presence = ALWAYS, px4: typing.Mapping[str, typing.Any] | None = None,
    ) -> RunDescription:
        """Describe a run before it begins."""
        return cls(schema.VERSION, mode, autopilot, namespace.strip('/'), *configuration.texts,
                   flat_parameters(configuration), versions() | {
                       f'{_NODE}{name}': path for name, path in (own_classes or {}).items()} | {
                       f'block {row.name}': _code_of(row)
                       for row in configuration.world.own_blocks},
                   *presence, dict(px4 or {}))

    @property
    def own_classes(self) -> dict[str, str]:
        """The blocks of the user that have run, as `module:Class` by the name of the node."""
        return {name.removeprefix(_NODE): path for name, path in self.versions.items()
                if name.startswith(_NODE)}

    @property
    def presence(self) -> Presence:
        return Presence(self.joins_us, self.leaves_us)

    @functools.cached_property
    def world(self) -> WorldParameters:
        """The parameters that all nodes of the run share."""
        return node_configuration(
            'manager', default_parameters('manager') | self.parameters['manager']).world

    @functools.cached_property
    def graph(self) -> graph.Graph:
        """The nodes and topics of the run."""
        return graph.of_world(self.world)

    def configuration(
        self, overrides: typing.Mapping[str, FlatParameters],
        base: typing.Mapping[str, FlatParameters] | None = None,
    ) -> Configuration:
        """Return the parameters of the run with overrides.

        The vehicle is that of the recording, even if its file has changed, unless it is overridden.

        :param base: overrides of lower priority than `overrides`
        """
        # Further nodes share these as well.
        laid = {'': flat_values(self.world)} | self.parameters
        for node, values in (base or {}).items():
            laid[node] = laid.get(node, {}) | values
        given = overrides.get('', {})
        return load_configuration(
            None, overrides, base=laid, lays_scenario=False, files=self.files(except_for=given))

    def files(self, except_for: typing.Container[str] = ()) -> Files:
        world = self.world
        texts: dict[tuple[Kind, str], str] = {}
        if 'vehicle' not in except_for:
            texts['vehicles', world.vehicle] = self.vehicle
        if self.mission and 'mission' not in except_for:
            texts['missions', world.mission] = self.mission
        if self.scenario and 'scenario' not in except_for:
            texts['scenarios', world.scenario] = self.scenario
        if self.scene and 'scene' not in except_for:
            texts['scenes', world.scene] = self.scene
        return Files(texts, ' of the recording')

    @functools.cached_property
    def recorded_vehicle(self) -> Vehicle:
        """The vehicle as it was then: the file of that name may have changed since."""
        return self.files().vehicle(self.world.vehicle)

    def full_name(self, topic: str) -> str:
        if topic.startswith('/'):
            return topic
        return f'/{self.namespace}/{topic}' if self.namespace else f'/{topic}'

    def relative_name(self, topic: str) -> str:
        """Return a topic's name in the graph from its absolute name."""
        if topic in graph.TOPICS or topic in side_topics.RECORDED:
            return topic
        prefix = f'/{self.namespace}/' if self.namespace else '/'
        return topic.removeprefix(prefix)

    @property
    def members(self) -> dict[str, RunDescription]:
        """The vehicles of the recording by namespace: one that is alone has no name there."""
        return {'': self}

    def to_yaml(self) -> str:
        """Return the text that a bag carries."""
        return yaml.dump(self.to_mapping(), Dumper=DUMPER, sort_keys=False, allow_unicode=True)

    def to_mapping(self) -> dict[str, typing.Any]:
        nodes, world = self.graph, self.world
        return dataclasses.asdict(self) | {'graph': {
            'nodes': {name: {'inputs': list(spec.inputs)} for name, spec in nodes.nodes.items()},
            'topics': {
                name: {'type': topic.type, 'publisher': topic.publisher,
                       'period_us': topic.period_us(world.step_us, world.periods_us)}
                for name, topic in nodes.topics.items()}}}

    @classmethod
    def from_content(cls, bag: str | pathlib.Path, content: typing.Any) -> RunDescription:
        """Read what `to_mapping` has returned."""
        try:
            version = content['schema_version']
            if version not in (schema.VERSION, *schema.CHANGED_SINCE):
                package = content['versions']['px4_sim_ros']
                writer = f'px4_sim_ros {package}'
                if package == __version__:
                    writer = f'another state of {writer}'
                raise BagError(
                    f'bag {bag}: its schema has version {version} and this is for version'
                    f' {schema.VERSION}; {writer} has written it and can read it')
            content.setdefault('scenario', '')         # there were none before version 3
            content.setdefault('scene', '')            # nor were scenes
            content = ALWAYS._asdict() | {'px4': {}} | content
            description = cls(**{
                field.name: content[field.name] for field in dataclasses.fields(cls)})
            for name in ('mode', 'autopilot', 'namespace', 'vehicle', 'mission', 'scenario',
                         'scene'):
                str.encode(getattr(description, name))         # it is a text
            _ = description.graph
        except BagError:
            raise
        except ParameterError as error:
            raise BagError(f'bag {bag}: {error}') from error
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise unreadable(bag, error) from error
        return description


def unreadable(bag: str | pathlib.Path, error: Exception) -> BagError:
    """Return the error of a description that lacks something, or has another shape."""
    missing = f': {error.args[0]} is missing' if isinstance(error, KeyError) else ''
    return BagError(f'bag {bag}: its description of the run cannot be read{missing}')


def with_run_file(configuration: Configuration, path: pathlib.Path) -> Configuration:
    """Return parameters whose recorder reads the description of the run from a file."""
    recorder = dataclasses.replace(
        configuration.of_node('recorder', RecorderParameters), run_file=str(path))
    return configuration.with_node('recorder', recorder)


def _code_of(row: OwnBlockRow) -> str:
    """Return the class of a block of the user's, and a digest of the file that it is in."""
    found = graph.own_block_class(f'block {row.name}: class', row.path)
    file = pathlib.Path(sys.modules[found.__module__].__file__ or '')
    return f'{row.path} {hashlib.sha256(file.read_bytes()).hexdigest()[:16]}'


def versions() -> dict[str, str]:
    """Return the versions that the numbers of a run depend on."""
    import importlib.metadata  # it takes a while, and processes of a graph do without
    libc = ' '.join(platform.libc_ver())
    return {'px4_sim_ros': __version__, 'python': platform.python_version(),
            'machine': f'{platform.machine()} {libc}'} | {
        name: importlib.metadata.version(name) for name in _LIBRARIES}
