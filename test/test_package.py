# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""package.xml names what the package imports, by the keys that rosdep knows."""
import ast
import functools
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import yaml
from packaging.requirements import Requirement

import px4_sim_ros
from px4_sim_ros.cli import command_line
from px4_sim_ros.cli.command_line import COMMANDS, main
from px4_sim_ros.spec import resources

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLCON = shutil.which('colcon')
PACKAGE = ElementTree.parse(ROOT / 'package.xml').getroot()
# What is imported, and the key in rosdistro's rosdep/python.yaml; looked up there on 2026-08-22.
# Packages of ROS have their own names.
KEYS = {
    'argcomplete': 'python3-argcomplete',
    'mcap': 'mcap-ros2-support',
    'mcap_ros2': 'mcap-ros2-support',
    'lz4': 'mcap-ros2-support',              # mcap requires both
    'zstandard': 'mcap-ros2-support',
    'matplotlib': 'python3-matplotlib',
    'llvmlite': 'python3-numba',             # which requires it
    'numba': 'python3-numba',
    'numpy': 'python3-numpy',
    'packaging': 'python3-packaging',
    'pandas': 'python3-pandas',
    'psutil': 'python3-psutil',
    'pymap3d': 'python3-pymap3d',
    'pymavlink': 'python3-pymavlink-pip',
    'pyproj': 'python3-pyproj',
    'pytest': 'python3-pytest',
    'rich': 'python3-rich',
    'rosbags': 'python3-rosbags-pip',
    'scipy': 'python3-scipy',
    'setuptools': 'python3-setuptools',
    'tqdm': 'python3-tqdm',
    'transforms3d': 'python3-transforms3d',
    'yaml': 'python3-yaml',
    'urdf_parser_py': 'urdfdom_py',          # a package of ROS
}
# Of these rosdep knows none. The package imports them where it needs them, and says so when they
# are missing.
WITHOUT_A_KEY = {'allantools', 'distributed', 'gymnasium', 'plotly', 'pyarrow', 'pygeomag',
                 'pyulog', 'rerun', 'selenium'}
# All of `viewing/rerun_*` is for Rerun, and `learning` for Gymnasium, which are looked for before;
# tests are skipped.
LOOKED_FOR = {'gymnasium', 'rerun'}
# Used where they are installed, and not asked for: of ROS, what reads images and meshes, and what
# learns.
WHERE_INSTALLED = {
    'PIL', 'cv2', 'stable_baselines3', 'torch', 'trimesh', 'px4_msgs',
    'rosidl_adapter',
    'rosidl_generator_c', 'rosidl_generator_type_description', 'rosidl_typesupport_c',
    'rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c'}
# Named in texts only: `ros2 launch`, and the type of /tf.
NOT_IMPORTED = {'ros2launch', 'tf2_msgs'}


def declared(*kinds):
    return {element.text for kind in kinds for element in PACKAGE.iter(kind)}


def is_for_types_only(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == 'typing.TYPE_CHECKING'


def imports(nodes, at_start):
    """Yield what statements import, by its first name.

    :param at_start: only what is imported as soon as the module is
    """
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition('.')[0]
        # Expressions, which are most of a module, import nothing.
        elif isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)) and not (
                at_start and (isinstance(node, ast.FunctionDef) or is_for_types_only(node))):
            yield from imports(ast.iter_child_nodes(node), at_start)


@functools.cache
def statements(path):
    """Return the statements of a module."""
    return ast.parse(path.read_text(encoding='utf-8')).body


def third_party(*folders, at_start=False):
    """Return what the modules in folders import from elsewhere."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob('*.py')]
    own = {path.stem for path in paths} | {
        'px4_sim_ros', 'benchmarks', 'docs', 'examples', 'verification'}
    found = {name for path in paths for name in imports(statements(path), at_start)}
    return found - own - sys.stdlib_module_names


def keys(names):
    return {KEYS.get(name, name) for name in names}


def of_a_run():
    return third_party('px4_sim_ros', 'launch')


def test_what_the_package_imports_is_declared_and_nothing_else():
    assert declared('depend', 'exec_depend') == keys(
        of_a_run() - WITHOUT_A_KEY - WHERE_INSTALLED) | NOT_IMPORTED


def test_what_only_the_tests_import_is_declared_and_nothing_else():
    assert declared('test_depend') == keys(
        third_party('test', 'examples', 'benchmarks')
        - WITHOUT_A_KEY - WHERE_INSTALLED) - declared('exec_depend')


def test_packages_without_a_key_are_imported_where_they_are_needed():
    everywhere = third_party(
        'px4_sim_ros', 'launch', 'benchmarks', 'test', 'examples', at_start=True)
    assert everywhere & WITHOUT_A_KEY == LOOKED_FOR


@pytest.mark.parametrize(('package', 'words'), [
    ('pygeomag', ['fly']), ('plotly', ['fly', '--report', 'page.html']),
    ('scipy', ['campaign', 'wind_limit']),
    ('scipy', ['identify', 'a.ulg', '--vehicle', 'iris', '--out', 'b.yaml']),
    ('distributed', ['campaign', 'wind_limit', '--scheduler', 'tcp://a:1'])])
def test_one_that_is_missing_is_named_before_anything_starts(package, words, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(words) == 2
    assert capsys.readouterr().err == (
        f'{words[0]}: the Python package {package} is not installed;'
        f' `pip install {package}` installs it\n')


@pytest.fixture
def run_setup(monkeypatch):
    """Return a function: what setup.py in a folder gives to setuptools."""
    import setuptools  # takes a while to load

    def given_in(folder):
        given = {}
        monkeypatch.setattr(setuptools, 'setup', given.update)
        monkeypatch.chdir(folder)
        runpy.run_path('setup.py')
        return given
    return given_in


@pytest.fixture
def given(run_setup):
    return run_setup(ROOT)


def test_colcon_builds_with_links(given, run_setup, tmp_path):
    """`--symlink-install` runs it among links to what is installed, and to nothing else."""
    for name in ('setup.py', 'setup.cfg', 'px4_sim_ros', 'resource', 'config', 'launch'):
        (tmp_path / name).symlink_to(ROOT / name)
    linked = run_setup(tmp_path)
    assert linked['packages'] and linked == given


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(COLCON is None, reason='colcon is not installed (colcon-common-extensions)')
def test_colcon_builds_a_workspace(tmp_path):
    """Of ROS 2 the wheels are enough."""
    (tmp_path / 'src').mkdir()
    (tmp_path / 'src' / 'px4_sim_ros').symlink_to(ROOT)
    environment = {**os.environ, 'PYTHONPATH': ''}
    built = subprocess.run(
        [COLCON, 'build', '--packages-select', 'px4_sim_ros'], cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    installed = tmp_path / 'install' / 'px4_sim_ros'
    assert (installed / 'share/ament_index/resource_index/packages/px4_sim_ros').is_file()
    assert (installed / 'share/px4_sim_ros/launch/iris.launch.py').is_file()
    assert {path.name for path in (installed / 'lib/px4_sim_ros').iterdir()} >= {
        'world', 'autopilot', 'autopilot_supervisor', 'px4_sim_ros', 'visualizer'}
    used = subprocess.run(
        ['bash', '-c', '. install/local_setup.bash && "$0" -c "import px4_sim_ros as it;'
         ' print(it.__file__)" && "$0" -m px4_sim_ros list', sys.executable], cwd=tmp_path,
        env=environment, capture_output=True, text=True, check=False)
    assert used.returncode == 0, used.stderr
    assert used.stdout.startswith(str(installed)) and 'iris' in used.stdout


@pytest.mark.parametrize('builds', ['bdist_wheel', 'editable_wheel'])
def test_pip_installs_what_a_flight_needs_and_one_command(builds, run_setup, given, monkeypatch):
    """In a workspace of colcon both are ROS' own, and so are the executables of launch files."""
    monkeypatch.setattr(sys, 'argv', ['setup.py', builds])
    wheel = run_setup(ROOT)
    needed = {Requirement(line).name for line in wheel['install_requires']}
    assert {'ros-rclpy', 'numpy', 'numba', 'pymavlink'} <= needed
    names = [[line.split(' = ')[0] for line in its['entry_points']['console_scripts']]
             for its in (wheel, given)]
    assert names == [['px4_sim_ros'], [
        'px4_sim_ros', 'world', 'visualizer', 'autopilot_supervisor', 'autopilot']]
    assert given['install_requires'] == ['setuptools']


def test_colcon_finds_pytest(given):
    """What colcon goes by: it takes pytest for packages whose extra `test` names it."""
    assert given['extras_require']['test'] == ['pytest']
    # Of setuptools it has gone; versions before warn.
    assert 'tests_require' not in given


def test_extras_have_what_the_lists_have(given):
    """Whoever installs an extra lacks nothing of `requirements-NAME.txt`, nor the other way."""
    extras = given['extras_require']

    def listed(name):
        lines = (ROOT / f'requirements-{name}.txt').read_text('utf-8').splitlines()
        return {re.split('[=<>]', line)[0] for line in lines if not line.startswith(('#', '-r'))}
    assert set(extras['rerun']) == listed('rerun')
    assert set(extras['scenes']) == listed('scenes')
    assert {*extras['campaign'], *extras['dask']} == listed('campaign')
    assert set(extras['real']) == listed('real')
    for path in ROOT.glob('requirements-*.txt'):
        assert path.stem.removeprefix('requirements-') in (
            'rerun', 'campaign', 'real', 'scenes', 'test', 'docs', 'pip')


@pytest.mark.parametrize(('arguments', 'leaves_out'), [
    ([], True), (['-m', 'unit or not unit'], False)])
@pytest.mark.process
def test_colcon_leaves_out_what_is_slow(arguments, leaves_out):
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '--collect-only', 'test/link/test_link_fuzz.py',
         *arguments], cwd=ROOT, env=os.environ | {'COLCON': '1', 'PYTEST_ADDOPTS': ''},
        capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert ('1 deselected' in result.stdout) == leaves_out


@pytest.mark.process
def test_plugins_of_ros_are_not_loaded(tmp_path):
    """Those of launch_testing and launch_testing_ros are on PYTHONPATH in a sourced shell."""
    (tmp_path / 'broken.py').write_text('raise RuntimeError\n')
    plugins = tmp_path / 'broken-1.dist-info' / 'entry_points.txt'
    plugins.parent.mkdir()
    plugins.write_text('[pytest11]\nlaunch_testing = broken\nlaunch_ros = broken\n')
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '--collect-only', 'test/link/test_link_fuzz.py'],
        cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {
            'PYTHONPATH': f'{tmp_path}{os.pathsep}{os.environ["PYTHONPATH"]}'})
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_source_has_its_licence():
    """Two lines at its head, as SPDX has them; package.xml names the same."""
    head = ('# Copyright 2026 px4_sim_ros maintainers\n'
            '# SPDX-License-Identifier: Apache-2.0\n')
    assert '<license>Apache-2.0</license>' in (ROOT / 'package.xml').read_text()
    folders = 'px4_sim_ros', 'benchmarks', 'test', 'launch', 'examples', 'docs'
    sources = [path for folder in folders for path in (ROOT / folder).rglob('*.py')]
    assert len(sources) > 300
    assert [str(path) for path in sources
            if not path.read_text(encoding='utf-8').startswith(head)] == []


def test_files_of_a_package_that_pip_has_installed_are_found(tmp_path, monkeypatch):
    """Without a workspace of ROS that anybody has sourced."""
    share = tmp_path / 'share' / resources.PACKAGE
    share.mkdir(parents=True)
    (share / 'package.xml').touch()
    installed = tmp_path / 'lib' / resources.PACKAGE / 'config' / 'resources.py'
    monkeypatch.setattr(resources, '__file__', str(installed))
    monkeypatch.setattr(sys, 'prefix', str(tmp_path))
    assert resources.config_directory() == share / 'config'


def pins(*names):
    """Return the versions that lists of packages name, by package."""
    found = {}
    for name in names:
        for line in (ROOT / name).read_text().splitlines():
            if (match := re.match(r'([\w.-]+)(?:\[\w+\])?==(\S+)', line)):
                found[match[1].lower().replace('_', '-')] = match[2]
    return found


def not_fulfilled(locked, *names):
    """Return the lines of lists that the versions of a lock do not fulfil."""
    lines = [line for name in names for line in (ROOT / name).read_text().splitlines()
             if line and not line.startswith(('#', '-r'))]
    assert len(lines) > 20
    return [line for line in lines for needed in [Requirement(line)]
            if not needed.specifier.contains(locked[needed.name.lower().replace('_', '-')])]


def test_the_locks_are_those_of_the_lists():
    """`make lock` writes them; each package has hashes, and none the name of a host."""
    lists = [path.name for path in ROOT.glob('requirements*.txt') if 'docs' not in path.name]
    run, test = pins('requirements.lock'), pins('requirements-test.lock')
    assert not_fulfilled(run, 'requirements.txt', 'requirements-pip.txt') == []
    assert not_fulfilled(test, *lists) == []
    assert run.items() <= test.items()
    for name, its in ('requirements.lock', run), ('requirements-test.lock', test):
        text = (ROOT / name).read_text()
        assert '://' not in text
        assert len(re.findall(r'^\S.*\\\n    --hash=sha256:', text, re.M)) >= len(its)


def test_what_the_container_takes_is_there(given):
    """Its stages, by the files that they copy and the words that their commands have."""
    text = (ROOT / 'container' / 'Dockerfile').read_text()
    extras, = re.findall(r'^ARG EXTRAS=(\S+)$', text, re.M)
    assert re.findall(r'^FROM \S+ AS (\w+)$', text, re.M) == ['build', 'fly', 'px4']
    assert set(extras.split(',')) <= set(given['extras_require'])
    for command in re.findall(r'px4_sim_ros (\w+)', text):
        assert command in COMMANDS or command in ('fly', 'px4'), command
    ignored = (ROOT / 'container' / 'Dockerfile.dockerignore').read_text().split()
    assert {'.git', '.venv'} <= set(ignored)
    compose = yaml.safe_load((ROOT / 'container' / 'compose.yaml').read_text())
    parser, _, _ = command_line._parser(['fly'])
    assert parser.parse_args(compose['services']['flight']['command']).autopilot == 'px4'
    assert compose['services']['flight']['build']['dockerfile'] == 'container/Dockerfile'
    device = json.loads((ROOT / '.devcontainer' / 'devcontainer.json').read_text())
    assert (ROOT / '.devcontainer' / device['build']['dockerfile']).is_file()


def test_a_release_has_one_version(given):
    assert {given['version'], PACKAGE.findtext('version')} == {px4_sim_ros.__version__}
