# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A world in the form of those of PX4's own Gazebo models, and a model beside it."""
import pathlib

import numpy as np
import trimesh
from PIL import Image


def shape(geometry, more='', pose=''):
    """Return a link of a model that looks as it collides."""
    parts = ''.join(
        f'<{kind} name="{kind}">{f"<pose>{pose}</pose>" if pose else ""}'
        f'<geometry>{geometry}</geometry>{colour}</{kind}>\n'
        for kind, colour in (('collision', ''), ('visual', more)))
    return f'<link name="link">\n{parts}</link>\n'


RED = '<material><ambient>0.3 0 0 1</ambient><diffuse>0.7 0.1 0 1</diffuse></material>'
GROUND = shape('<plane><normal>0 0 1</normal><size>500 500</size></plane>')
WORLD = f"""<?xml version="1.0" encoding="UTF-8"?>
<sdf version="1.9">
<world name="mine">
<physics type="ode"><max_step_size>0.004</max_step_size></physics>
<gravity>0 0 -9.8</gravity>
<plugin name="gz::sim::systems::Physics" filename="gz-sim-physics-system"/>
<model name="ground_plane"><static>true</static>{GROUND}<pose>0 0 0 0 -0 0</pose></model>
<light name="sunUTC" type="directional">
<pose>0 0 500 0 -0 0</pose>
<direction>0 1 -1</direction>
</light>
<light name="lamp" type="point"/>
<wind><linear_velocity>5 2 0</linear_velocity></wind>
<model name="wall">
<pose>5 0 7.5 0 0 0</pose>
<static>true</static>
{shape('<box><size>1 20 15</size></box>', RED)}</model>
<model name="house">
<pose degrees="true">10 20 0 0 0 90</pose>
<static>1</static>
<link name="mast"><pose>2 0 1 0 0 0</pose>
<visual name="v"><pose>0 0 3 0 0 0</pose>
<geometry><cylinder><radius>0.2</radius><length>8</length></cylinder></geometry></visual>
<visual name="w"><pose>1 0 0 1.5707963267948966 0 0</pose>
<geometry><sphere><radius>0.5</radius></sphere></geometry></visual>
<sensor name="eye" type="camera"/>
</link>
<model name="shed"><pose>0 4 1 0 0 0</pose>
{shape('<box><size>2 2 2</size></box>', pose='0 0 1 0 0 0')}</model>
<joint name="hinge" type="fixed"/>
</model>
<model name="ridge"><static>true</static>
<pose>40 20 0 1.5707963267948966 0 0</pose>
{shape('<polyline><point>-20 0</point><point>20 0</point><point>0 10</point><height>40</height>'
       '</polyline>')}</model>
<model name="ball">
{shape('<capsule><radius>1</radius><length>2</length></capsule>')}</model>
<include><uri>model://pad</uri><name>pad</name></include>
<include><uri>https://fuel.gazebosim.org/1.0/OpenRobotics/models/Oak Tree</uri></include>
</world>
</sdf>
"""

PAD = """<?xml version="1.0"?>
<sdf version="1.9"><model name="arucotag"><static>true</static><pose>0 3 0.001 0 0 0</pose>
<link name="base"><visual name="v">
<geometry><plane><normal>0 0 1</normal><size>0.5 0.4</size></plane></geometry>
<material><pbr><metal><albedo_map>model://pad/tag.png</albedo_map></metal></pbr></material></visual>
<visual name="w"><geometry><mesh><uri>meshes/rim.stl</uri><scale>2 2 2</scale></mesh></geometry>
</visual>
<visual name="x"><geometry><mesh><uri>meshes/rim.dae</uri></mesh></geometry></visual>
</link></model></sdf>
"""


def write_model(folder: pathlib.Path) -> None:
    """Write the model beside which the world is."""
    (folder / 'models' / 'pad' / 'meshes').mkdir(parents=True)
    (folder / 'models' / 'pad' / 'model.sdf').write_text(PAD)
    Image.fromarray(np.eye(4, dtype=np.uint8) * 255).save(folder / 'models' / 'pad' / 'tag.png')
    trimesh.creation.box((1.0, 1.0, 0.1)).export(folder / 'models' / 'pad' / 'meshes' / 'rim.stl')
