# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Build the ament_python package; versions of what it needs are in requirements.txt."""
import pathlib
import sys

from setuptools import find_packages, setup

PACKAGE = 'px4_sim_ros'
# `colcon build --symlink-install` runs a link to this file, in a folder without the lists.
ROOT = pathlib.Path(__file__).resolve().parent


# A wheel, which pip builds as well, brings all that a flight needs, and one command. In a workspace
# of colcon that is there already, and `ros2 run` and launch files have executables of their own.
IS_WHEEL = not {'bdist_wheel', 'dist_info', 'editable_wheel'}.isdisjoint(sys.argv)
NEEDED = [line for line in (ROOT / 'requirements.txt').read_text().splitlines()
          if not line.startswith('#')]
COMMAND = [f'{PACKAGE} = {PACKAGE}.cli.executables:command_line']
OF_ROS = [f'{name} = {PACKAGE}.cli.executables:{name}'
          for name in ('world', 'visualizer', 'autopilot_supervisor')] + [
    f'autopilot = {PACKAGE}.autopilot.process:main']


def folder(name):
    """Return a folder of plain files as entries of `data_files`."""
    files = sorted(p for p in pathlib.Path(name).rglob('*') if p.is_file() and p.suffix != '.pyc')
    return [(f'share/{PACKAGE}/{path.parent}', [str(path)]) for path in files]


setup(
    name=PACKAGE,
    version='0.1.0',
    description='The world around a PX4 autopilot as ROS 2 nodes in enforced lockstep.',
    license='Apache-2.0',
    python_requires='>=3.11',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *folder('config'),
        *folder('launch'),
    ],
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    classifiers=[
        'Framework :: Pytest', 'Intended Audience :: Developers',
        'License :: OSI Approved :: Apache Software License', 'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3.11', 'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13', 'Topic :: Scientific/Engineering'],
    install_requires=NEEDED if IS_WHEEL else ['setuptools'],
    # By `test` colcon knows that the tests are pytest's.
    extras_require={'rerun': ['rerun-sdk'], 'campaign': ['scipy', 'pyarrow'],
                    'real': ['scipy', 'pyulog'],
                    'dask': ['distributed'], 'scenes': ['pillow', 'trimesh'],
                    'gymnasium': ['gymnasium'], 'test': ['pytest'],
                    'flight': ['pytest', *NEEDED]},
    zip_safe=False,
    entry_points={
        'console_scripts': COMMAND if IS_WHEEL else COMMAND + OF_ROS,
        # Its name is that of `-p`: so pytest does not load it a second time.
        'pytest11': [f'{PACKAGE}.testing.plugin = {PACKAGE}.testing.plugin']},
)
