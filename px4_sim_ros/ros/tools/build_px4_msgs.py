# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds px4_msgs for Python nodes, from the messages of the PX4 that flies, without colcon.

The generators are those of ROS 2, which come with its wheels as well; a C++ compiler is needed.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import typing

from px4_sim_ros.messages.px4_definitions import PACKAGE, Px4Definitions, references
from px4_sim_ros.model.errors import ParameterError

# What offboard nodes speak and hear; any other can be named.
USUAL = ('OffboardControlMode', 'TrajectorySetpoint', 'VehicleAttitudeSetpoint', 'VehicleCommand',
         'VehicleCommandAck', 'VehicleStatus', 'VehicleLocalPosition', 'VehicleOdometry')
_SUPPORTS = 'rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c'
_GENERATORS = ('rosidl_adapter', 'rosidl_generator_c', 'rosidl_generator_py', *_SUPPORTS,
               'rosidl_generator_type_description', 'rosidl_typesupport_c')
# One library has all; ROS opens it by these names.
_ALIASES = tuple(f'lib{PACKAGE}__{support}.so' for support in _SUPPORTS)
_EXTENSION = f'{PACKAGE}_s__rosidl_typesupport_c.so'
_LIBRARIES = ('rosidl_runtime_c', 'rosidl_typesupport_c', *_SUPPORTS, 'rcutils', 'fastcdr',
              'rosidl_typesupport_fastrtps_cpp', 'rmw',
              # Each service has events, whose parts are messages of these.
              *(f'{package}__{part}' for package in ('service_msgs', 'builtin_interfaces')
                for part in ('rosidl_generator_c', 'rosidl_generator_py', 'rosidl_typesupport_c',
                             *_SUPPORTS)))
# Wherever the folder is: what is loaded by its name is found by it.
_INIT = f"""import ctypes
import pathlib
for _name in {_ALIASES!r}:
    ctypes.CDLL(str(pathlib.Path(__file__).parent / _name))
"""


def build(messages: str, folder: pathlib.Path, names: typing.Iterable[str] = USUAL) -> None:
    """Make the package px4_msgs in a new folder, for PYTHONPATH.

    :param messages: the folder of the definitions; '' for those of an installed px4_msgs
    :param names: of the messages; those that their fields are of come along
    :raises ParameterError: there is no such message, no compiler, or it fails
    """
    compiler = shutil.which('c++')
    if compiler is None:
        raise ParameterError('px4_msgs: there is no C++ compiler; install one, as g++')
    for generator in _GENERATORS:
        if importlib.util.find_spec(generator) is None:
            raise ParameterError(f'px4_msgs: {generator} is not installed; install'
                                 ' rosidl_default_generators')
    definitions = Px4Definitions(messages)
    # A workspace over the wheels does not have their place.
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(
        filter(None, [os.environ.get('AMENT_PREFIX_PATH'), sys.prefix]))
    folder.parent.mkdir(parents=True, exist_ok=True)
    # All of it is there, or nothing: after an interrupt the command can be repeated.
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        made, whole = pathlib.Path(name) / 'generated', pathlib.Path(name) / 'whole'
        files = _translate(definitions, names, made)
        _generate(files, made / PACKAGE)
        _compile(compiler, made, whole / PACKAGE)
        for path in (made / PACKAGE).rglob('*.py'):
            target = whole / path.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        (whole / PACKAGE / '__init__.py').write_text(_INIT, encoding='utf-8')
        whole.rename(folder)


def _translate(
    definitions: Px4Definitions, names: typing.Iterable[str], folder: pathlib.Path,
) -> list[str]:
    """Write the definitions as IDL; return them as generators name them."""
    from rosidl_adapter.msg import convert_msg_to_idl
    from rosidl_adapter.srv import convert_srv_to_idl
    messages = dict.fromkeys(part for its in names for part in definitions.with_parts(its))
    texts = {f'msg/{name}': definitions.lines(name) for name in messages} | {
        f'srv/{name}': (*request, '---', *response)
        for name, (request, response) in definitions.services().items()
        if messages.keys() >= set(references((*request, *response)))}
    files = []
    for path, lines in texts.items():
        kind, name = path.split('/')
        source = folder / kind / f'{name}.{kind}'
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text('\n'.join(lines), encoding='utf-8')
        convert = convert_msg_to_idl if kind == 'msg' else convert_srv_to_idl
        with contextlib.redirect_stdout(io.StringIO()):
            convert(folder.absolute(), PACKAGE, source.relative_to(folder), source.parent)
        files.append(f'{folder}:{path}.idl')
    return files


def _generate(files: list[str], folder: pathlib.Path) -> None:
    """Write the sources."""
    import rosidl_generator_py
    from rosidl_generator_c.cli import GenerateC
    # The package leaves it out, since it takes long to import.
    sys.modules.pop('rosidl_generator_py.generate_py_impl', None)
    from rosidl_generator_py.generate_py_impl import generate_py
    rosidl_generator_py.generate_py = generate_py
    from rosidl_generator_py.cli import GeneratePython
    from rosidl_generator_type_description.cli import HashTypeDescription
    from rosidl_typesupport_c.cli import GenerateCTypesupport
    from rosidl_typesupport_fastrtps_c.cli import GenerateFastRTPSCTypesupport
    from rosidl_typesupport_introspection_c.cli import GenerateIntrospectionCTypesupport
    events = [str(prefix / 'share' / 'service_msgs') for prefix in _prefixes()]
    of_all: tuple[typing.Any, ...] = PACKAGE, files, events, folder
    with contextlib.redirect_stdout(io.StringIO()):
        hashes = HashTypeDescription('').generate_type_hashes(*of_all)
        for kind in 'msg', 'srv':      # it takes one for the other that has the same name
            GenerateC('').generate(
                PACKAGE, [file for file in files if f':{kind}/' in file], events, folder,
                [path for path in hashes if pathlib.Path(path).parent.name == kind])
        GenerateFastRTPSCTypesupport('').generate(*of_all)
        # Of services it has a file of the same name as another generator.
        GenerateIntrospectionCTypesupport('').generate(
            *of_all[:-1], folder.parent / 'introspection' / PACKAGE)
        GenerateCTypesupport('', typesupport_implementations=list(_SUPPORTS)).generate(*of_all)
        GeneratePython('', typesupport_implementations=['rosidl_typesupport_c']).generate(*of_all)


def _prefixes() -> list[pathlib.Path]:
    """Return where packages of ROS 2 are installed."""
    return [pathlib.Path(p) for p in os.environ['AMENT_PREFIX_PATH'].split(os.pathsep) if p]


def _compile(compiler: str, folder: pathlib.Path, package: pathlib.Path) -> None:
    """Compile all into one library."""
    import numpy
    prefixes = _prefixes()
    includes = [folder, folder / 'introspection', pathlib.Path(sysconfig.get_path('include')),
                pathlib.Path(numpy.get_include())]
    for include in (prefix / 'include' for prefix in prefixes):
        if include.is_dir():       # a package in Python has none
            includes += [include, *filter(pathlib.Path.is_dir, include.iterdir())]
    options = ['-O1', '-fPIC', '-w', *(f'-I{include}' for include in includes)]
    sources = [path for path in folder.rglob('*') if path.suffix in ('.c', '.cpp')]

    def compiled(source: pathlib.Path) -> str:
        target = f'{source}.o'
        _run([compiler.replace('c++', 'cc') if source.suffix == '.c' else compiler,
              *options, '-c', str(source), '-o', target])
        return target

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    package.mkdir(parents=True, exist_ok=True)
    library = package / f'lib{PACKAGE}.so'
    libraries = [f'-l{name}' for name in _LIBRARIES]
    _run([compiler, '-shared', f'-Wl,-soname,{library.name}', '-o', str(library), *objects,
          *(f'-L{prefix}/lib' for prefix in prefixes), *libraries,
          *(f'-Wl,-rpath,{prefix}/lib' for prefix in prefixes)])
    for alias in (*_ALIASES, _EXTENSION):
        _run([compiler, '-shared', f'-Wl,-soname,{alias}', '-o', str(package / alias),
              '-Wl,--no-as-needed', f'-L{package}', f'-l{PACKAGE}', '-Wl,-rpath,$ORIGIN'])


def _run(words: list[str]) -> None:
    """Run the compiler.

    :raises ParameterError: with its first complaint
    """
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        complaint = re.search(r'.*(?:error|undefined).*', done.stderr) or re.search(
            r'.+', done.stderr)
        said = complaint[0] if complaint else 'nothing'
        raise ParameterError(f'px4_msgs: it cannot be compiled: {said}')
