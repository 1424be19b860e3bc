# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The equations of motion of a vehicle, compiled: rigid body, force elements, drag and battery.

The force elements are rotors, lifting surfaces, feet and wheels: each kind is a table and one
loop. For the state see `motion_memory`. All of it is integrated together.
"""
from __future__ import annotations

import math

import numpy as np

from px4_sim_ros.jit.compiled import allocating, compiled
from px4_sim_ros.model import rotation
from px4_sim_ros.model.body import integrators, motion_memory
from px4_sim_ros.model.body.battery import (
    bus_voltage_v,
    clamp_charges,
    pack_current_a,
    pack_rates,
)
from px4_sim_ros.model.body.breaking import break_rotors
from px4_sim_ros.model.body.contact import contact_wrench, move_anchors
from px4_sim_ros.model.body.felt import feel
from px4_sim_ros.model.body.motion_memory import (
    BUS_CURRENT,
    BUS_VOLTAGE,
    IN_VORTEX_RING,
    OUTPUTS,
    QW,
    QX,
    QY,
    QZ,
    ROTORS,
    VX,
    VY,
    VZ,
    WX,
    WY,
    WZ,
    HeldInputs,
    X,
    Y,
    Z,
)
from px4_sim_ros.model.body.plant import Plant, actuator_rate
from px4_sim_ros.model.body.rotors import (
    ACCELERATION,
    AXIS_X,
    AXIS_Y,
    AXIS_Z,
    HINGE_X,
    HINGE_Y,
    HINGE_Z,
    INERTIA,
    OUT_OF_GROUND_EFFECT,
    REST_X,
    REST_Y,
    REST_Z,
    TILT_SERVO,
    shakes,
    spin_up,
    wrench,
)
from px4_sim_ros.model.body.scene_contact import MOST_BEGUN, move_touches, scene_wrench
from px4_sim_ros.model.body.surfaces import surface_wrench
from px4_sim_ros.model.body.wheel_motion import turn_wheels
from px4_sim_ros.model.environment import atmosphere, gravity
from px4_sim_ros.model.frames import Vector
from px4_sim_ros.model.scene.height_map import has_map, height_and_normal

# Rotors that servos tilt: where they point to now, and what their spin does to the body.
#
# A rotor turns about a hinge h through its hub (Rodrigues):
#
#     n = n_0 cos(a) + (h x n_0) sin(a) + h (h . n_0) (1 - cos(a))
#
# with its axis n_0 at the angle a = 0 of the servo. Thrust, drag, torque of the air and the
# gyroscopic moment of the body's rotation follow that axis. The servo turns the angular momentum
# J w n of the rotor as well, against the body: with the torque -J w n', n' = a' h x n.
#
# Not modelled: the inertia of what is tilted, and a hub that is not on its hinge.


@compiled
def tilt(
    rotors: np.ndarray, speeds_rad_s: np.ndarray, actuators: np.ndarray, angles_rad: np.ndarray,
    references: np.ndarray,
) -> Vector:
    """Set the axes of the rotors that are tilted; return the torque on the body in N m, FLU.

    :param rotors: the table of a RotorSet
    :param actuators: from `actuator_table`
    :param angles_rad: of the actuators
    :param references: of rotors, then actuators
    """
    count = len(rotors)
    tx = ty = tz = 0.0
    for i in range(count):
        servo = int(rotors[i, TILT_SERVO])
        if servo < 0:
            continue
        hx, hy, hz = rotors[i, HINGE_X], rotors[i, HINGE_Y], rotors[i, HINGE_Z]
        rx, ry, rz = rotors[i, REST_X], rotors[i, REST_Y], rotors[i, REST_Z]
        angle = angles_rad[servo]
        sine, cosine = math.sin(angle), math.cos(angle)
        along = (hx * rx + hy * ry + hz * rz) * (1.0 - cosine)
        nx = rx * cosine + (hy * rz - hz * ry) * sine + hx * along
        ny = ry * cosine + (hz * rx - hx * rz) * sine + hy * along
        nz = rz * cosine + (hx * ry - hy * rx) * sine + hz * along
        rotors[i, AXIS_X], rotors[i, AXIS_Y], rotors[i, AXIS_Z] = nx, ny, nz
        rate = actuator_rate(actuators, servo, angle, references[count + servo])
        torque = rotors[i, INERTIA] * speeds_rad_s[i] * rate
        tx -= torque * (hy * nz - hz * ny)
        ty -= torque * (hz * nx - hx * nz)
        tz -= torque * (hx * ny - hy * nx)
    return tx, ty, tz


# In m, m/s and rad/s: no vehicle is so far away, nor moves or turns so fast.
_BOUND = 1e6

_density_kg_m3 = compiled(atmosphere.density_kg_m3)
_gravity_m_s2 = compiled(gravity.gravity_m_s2)
_layout = compiled(motion_memory.layout)
_matrix = compiled(rotation.matrix)
_normalised = compiled(rotation.normalised)
_to_body = compiled(rotation.to_body)
_to_world = compiled(rotation.to_world)
_euler = compiled(integrators.euler_in_place, inline=True)
_rk4 = compiled(integrators.rk4_in_place, inline=True)


@compiled
def advance(
    memory: np.ndarray, constants: np.ndarray, rotors: np.ndarray, surfaces: np.ndarray,
    actuators: np.ndarray, packs: np.ndarray, feet: np.ndarray, shapes: np.ndarray,
    relief: np.ndarray, paths: np.ndarray, anchors: np.ndarray, touches: np.ndarray,
    work: np.ndarray, imu: np.ndarray, substep_s: float, substeps: int, is_rk4: bool,
) -> bool:
    """Integrate a state over equal substeps by `rk4` or `euler`, and set the outputs.

    The plant is given by its fields: as a tuple it would take longer to pass than a step of
    `euler`. Each array takes its time as well, so there are few. What changes does so in place,
    and what is returned is a plain value: when compiled code makes other objects, Python may run
    a signal handler, whose exception Numba cannot handle there.

    :param memory: all of a `Memory`; the outputs are velocity, acceleration and angular
        acceleration in FLU, voltage (V) and current (A) of the bus, out of all packs, 1 if a rotor
        is in its vortex ring, and the current (A) out of each pack
    :param anchors: of the feet
    :param touches: of the feet in a scene
    :param imu: numbers of an IMU, see `felt`; none: what it would read is not wanted
    :param substep_s: length of a substep, s
    :param substeps: with none the state is as it was, or integrated by another method: wheels
        turn for the length of one
    :return: whether the state is within all bounds
    """
    plant = Plant(constants, rotors, surfaces, actuators, packs, feet, shapes, relief, paths)
    state_at, angles_at, outputs_at = _layout(len(rotors), len(actuators), len(packs))
    x, angles_rad = memory[state_at:angles_at], memory[angles_at:outputs_at]
    held = HeldInputs(memory[6:state_at], memory[:3], memory[3:6], anchors, touches)
    integrate(x, angles_rad, plant, held, work, substep_s, substeps, is_rk4)
    _set_outputs(memory[outputs_at:], x, plant, held)
    wheels = memory[outputs_at + OUTPUTS + len(packs):]
    if len(wheels):
        _turn_wheels(wheels, x, plant, touches, substep_s * max(1, substeps))
    if len(imu):
        feel(imu, x, memory[outputs_at:], constants)
    return _is_bounded(x)


@compiled
def integrate(
    x: np.ndarray, angles_rad: np.ndarray, plant: Plant, held: HeldInputs, work: np.ndarray,
    substep_s: float, substeps: int, is_rk4: bool,
) -> None:
    """Integrate a state, and the angles of the rotors, over equal substeps in place.

    :param work: (`WORK_ROWS`, n), what is in it does not matter
    """
    for _ in range(substeps):
        turn_rotors(angles_rad, x, 0.5 * substep_s)
        if is_rk4:
            _rk4(_set_rates, x, substep_s, work, (plant, held))
        else:
            _euler(_set_rates, x, substep_s, work, (plant, held))
        project_state(x, plant, held, substep_s)
        turn_rotors(angles_rad, x, 0.5 * substep_s)


@compiled
def _set_outputs(outputs: np.ndarray, x: np.ndarray, plant: Plant, held: HeldInputs) -> None:
    rotors, actuators, packs = plant.rotors, plant.actuators, plant.packs
    r = _matrix((x[QW], x[QX], x[QY], x[QZ]))
    acceleration, angular_acceleration, voltage = _accelerations(x, plant, held, 0.0)
    current = 0.0
    if len(packs):
        charges = x[ROTORS + len(rotors) + len(actuators):]
        for i in range(len(packs)):
            outputs[OUTPUTS + i] = pack_current_a(
                packs, i, charges[2 * i], charges[2 * i + 1], voltage)
            current += outputs[OUTPUTS + i]
    velocity = _to_body(r, (x[VX], x[VY], x[VZ]))
    wind = _to_body(r, (held.wind_enu[0], held.wind_enu[1], held.wind_enu[2]))
    outputs[0], outputs[1], outputs[2] = velocity
    outputs[3], outputs[4], outputs[5] = _to_body(r, acceleration)
    outputs[6], outputs[7], outputs[8] = angular_acceleration
    outputs[BUS_VOLTAGE], outputs[BUS_CURRENT] = voltage, current
    outputs[IN_VORTEX_RING] = 1.0 if shakes(rotors, x[ROTORS:], velocity[2] - wind[2]) else 0.0


@compiled
def _turn_wheels(
    wheels: np.ndarray, x: np.ndarray, plant: Plant, touches: np.ndarray, duration_s: float,
) -> None:
    place, velocity, turn = _over_ground(
        plant.constants, (x[X], x[Y], x[Z]), (x[VX], x[VY], x[VZ]),
        _matrix((x[QW], x[QX], x[QY], x[QZ])))
    if has_map(plant.relief):       # there is no plane to be on
        place = place[0], place[1], math.inf
    turn_wheels(wheels, plant.feet, plant.shapes, touches, _slope(plant.constants), place,
                velocity, turn, (x[WX], x[WY], x[WZ]), x[ROTORS + len(plant.rotors):], duration_s)


@compiled
def _is_bounded(x: np.ndarray) -> bool:
    """Return whether all numbers of a state are within bounds."""
    found = True
    for value in x:
        found = found and -_BOUND < value < _BOUND          # not true for NaN
    return found


@compiled
def turn_rotors(angles_rad: np.ndarray, x: np.ndarray, duration_s: float) -> None:
    """Turn the rotors by their speed now, in place; nothing depends on their angles.

    Half a step before and half a step after an integration it is the trapezoidal rule.

    :param angles_rad: stay within -pi to pi
    """
    for i in range(len(angles_rad)):
        angle = angles_rad[i] + duration_s * x[ROTORS + i]
        angles_rad[i] = angle - math.tau * math.floor(angle / math.tau + 0.5)


@allocating
def derivative(x: np.ndarray, plant: Plant, held: HeldInputs) -> np.ndarray:
    """Return the derivative of the state."""
    rates = np.empty(len(x))
    _set_rates(rates, x, 0.0, plant, held)
    return rates


@compiled
def _set_rates(
    rates: np.ndarray, x: np.ndarray, ahead_s: float, plant: Plant, held: HeldInputs,
) -> None:
    acceleration, angular_acceleration, voltage = _accelerations(x, plant, held, ahead_s)
    qw, qx, qy, qz, wx, wy, wz = x[QW], x[QX], x[QY], x[QZ], x[WX], x[WY], x[WZ]
    rates[X], rates[Y], rates[Z] = x[VX], x[VY], x[VZ]
    rates[VX], rates[VY], rates[VZ] = acceleration
    # q' = q * (0, w) / 2
    rates[QW] = 0.5 * (-qx * wx - qy * wy - qz * wz)
    rates[QX] = 0.5 * (qw * wx + qy * wz - qz * wy)
    rates[QY] = 0.5 * (qw * wy + qz * wx - qx * wz)
    rates[QZ] = 0.5 * (qw * wz + qx * wy - qy * wx)
    rates[WX], rates[WY], rates[WZ] = angular_acceleration
    packs, rotors, actuators = plant.packs, plant.rotors, plant.actuators
    references = held.references
    first_actuator = ROTORS + len(rotors)
    first_pack = first_actuator + len(actuators)
    if len(packs):
        pack_rates(packs, x[first_pack:], voltage, rates[first_pack:])
    for i in range(len(rotors)):
        rates[ROTORS + i] = rotors[i, ACCELERATION]
    for i in range(first_actuator, first_pack):
        rates[i] = actuator_rate(actuators, i - first_actuator, x[i], references[i - ROTORS])


@compiled
def project_state(x: np.ndarray, plant: Plant, held: HeldInputs, step_s: float) -> None:
    """Project an integrated state onto its constraints, in place.

    The attitude gets unit length, charges are clamped to 0..1, and the anchors of the feet follow.

    :param step_s: over which it was integrated, s
    """
    attitude = _normalised((x[QW], x[QX], x[QY], x[QZ]))
    x[QW], x[QX], x[QY], x[QZ] = attitude
    first_actuator = ROTORS + len(plant.rotors)
    clamp_charges(x, first_actuator + len(plant.actuators))
    r = _matrix(attitude)
    place, _, turn = _over_ground(
        plant.constants, (x[X], x[Y], x[Z]), (x[VX], x[VY], x[VZ]), r)
    move_anchors(plant.constants, plant.feet, held.anchors, place, turn, x, first_actuator)
    if len(held.touches):
        move_touches(plant.constants, plant.feet, plant.shapes, plant.relief, plant.paths,
                     held.touches, (x[X], x[Y], x[Z]), r, x[first_actuator:], step_s)
    if len(held.touches) > len(plant.feet) + 1 + MOST_BEGUN:
        height = math.inf if has_map(plant.relief) else place[2]
        break_rotors(plant.rotors, x[ROTORS:], plant.feet, plant.shapes, plant.relief,
                     held.touches, (height, (turn[6], turn[7], turn[8])), (x[X], x[Y], x[Z]), r)


@compiled
def _over_ground(
    constants: np.ndarray, place: Vector, velocity: Vector, turn: tuple[float, ...],
) -> tuple[Vector, Vector, tuple[float, ...]]:
    """Return place, velocity and rotation from body axes in axes of the ground, from the world's.

    Those of level ground are the world's.
    """
    if not constants[0].is_sloping:
        return place, velocity, turn
    slope = _slope(constants)
    # The columns of the rotation are the body's axes.
    xx, xy, xz = _to_body(slope, (turn[0], turn[3], turn[6]))
    yx, yy, yz = _to_body(slope, (turn[1], turn[4], turn[7]))
    zx, zy, zz = _to_body(slope, (turn[2], turn[5], turn[8]))
    return (_to_body(slope, place), _to_body(slope, velocity),
            (xx, yx, zx, xy, yy, zy, xz, yz, zz))


@compiled
def _slope(constants: np.ndarray) -> tuple[float, ...]:
    """Return the rotation from axes of the ground into those of the world."""
    c = constants[0]
    return (c.slope_0, c.slope_1, c.slope_2, c.slope_3, c.slope_4, c.slope_5, c.slope_6,
            c.slope_7, c.slope_8)


@compiled
def _above_map(
    relief: np.ndarray, place: Vector, turn: tuple[float, ...],
) -> tuple[float, float, float, float]:
    """Return how high a place is over a height map, m, and its normal in body axes."""
    height, nx, ny, nz = height_and_normal(relief, place[0], place[1])
    if math.isnan(height):
        return OUT_OF_GROUND_EFFECT
    nx, ny, up = _to_body(turn, (nx, ny, nz))
    return (place[2] - height) * nz, nx, ny, up


@compiled
def _accelerations(
    x: np.ndarray, plant: Plant, held: HeldInputs, ahead_s: float,
) -> tuple[Vector, Vector, float]:
    """Return acceleration in ENU, angular acceleration in FLU, and the voltage of the bus in V.

    In the table of rotors are then their own accelerations.

    :param ahead_s: how long after the begin of the integration step it is, s
    """
    constants, rotors, feet, packs = plant.constants, plant.rotors, plant.feet, plant.packs
    first_actuator = ROTORS + len(rotors)
    c = constants[0]
    height, vx, vy, vz = x[Z], x[VX], x[VY], x[VZ]
    rate = x[WX], x[WY], x[WZ]
    r = _matrix((x[QW], x[QX], x[QY], x[QZ]))
    density = _density_kg_m3(
        c.home_altitude_m + height, c.sea_level_pressure_pa, c.sea_level_temperature_k
    ) * c.density_share
    wind, force = held.wind_enu, held.force_enu
    airspeed = ax, ay, az = _to_body(r, (vx - wind[0], vy - wind[1], vz - wind[2]))
    place, velocity, turn = _over_ground(constants, (x[X], x[Y], height), (vx, vy, vz), r)
    above_ground = (place[2], turn[6], turn[7], turn[8]) if len(feet) else OUT_OF_GROUND_EFFECT
    if has_map(plant.relief):
        above_ground = _above_map(plant.relief, (x[X], x[Y], height), r)
    hx = hy = hz = 0.0
    if c.tilts:
        hx, hy, hz = tilt(
            rotors, x[ROTORS:], plant.actuators, x[first_actuator:], held.references)
    fx, fy, fz, tx, ty, tz, power = wrench(
        constants, rotors, x[ROTORS:], airspeed, rate, density, above_ground)
    voltage = c.nominal_voltage_v
    if len(packs):
        voltage = bus_voltage_v(packs, x[first_actuator + len(plant.actuators):], power)
    lx, ly, lz = spin_up(rotors, x[ROTORS:], held.references, voltage / c.nominal_voltage_v)
    tx, ty, tz = tx + lx, ty + ly, tz + lz
    if c.tilts:
        tx, ty, tz = tx + hx, ty + hy, tz + hz
    if len(plant.surfaces):
        sx, sy, sz, lx, ly, lz = surface_wrench(
            plant.surfaces, rotors, x[first_actuator:], airspeed, rate, density)
        fx, fy, fz = fx + sx, fy + sy, fz + sz
        tx, ty, tz = tx + lx, ty + ly, tz + lz
    speed = math.sqrt(ax * ax + ay * ay + az * az)
    drag = (c.linear_drag_n_s_m + c.quadratic_drag_n_s2_m2 * speed) * (
        density / c.reference_density_kg_m3)
    fx, fy, fz = _to_world(r, (
        fx - drag * c.drag_ratio_x * ax, fy - drag * c.drag_ratio_y * ay,
        fz - drag * c.drag_ratio_z * az))
    if place[2] < c.reach_m:
        cx, cy, cz, lx, ly, lz = contact_wrench(
            constants, feet, held.anchors, place, velocity, turn, rate, x, first_actuator)
        lx, ly, lz = _to_body(turn, (lx, ly, lz))
        tx, ty, tz = tx + lx, ty + ly, tz + lz
        if c.is_sloping:
            cx, cy, cz = _to_world(r, _to_body(turn, (cx, cy, cz)))
        fx, fy, fz = fx + cx, fy + cy, fz + cz
    if len(held.touches):
        cx, cy, cz, lx, ly, lz = scene_wrench(
            constants, feet, plant.shapes, plant.relief, plant.paths, held.touches,
            (x[X], x[Y], height), (vx, vy, vz), r, rate, x[first_actuator:], ahead_s)
        fx, fy, fz = fx + cx, fy + cy, fz + cz
        lx, ly, lz = _to_body(r, (lx, ly, lz))
        tx, ty, tz = tx + lx, ty + ly, tz + lz
    if c.is_twisted:
        tx, ty, tz = tx + c.torque_x_n_m, ty + c.torque_y_n_m, tz + c.torque_z_n_m
    if c.is_spun:
        lx, ly, lz = _to_body(r, (c.spin_east_n_m, c.spin_north_n_m, c.spin_up_n_m))
        tx, ty, tz = tx + lx, ty + ly, tz + lz
    gravity_m_s2 = _gravity_m_s2(height, c.gravity_at_home, c.gravity_per_m, c.gravity_per_m2)
    # Coriolis: -2 W x v, with the rotation W of the Earth, which points north and up.
    north, up = 2.0 * c.earth_rate_north, 2.0 * c.earth_rate_up
    return (
        (
            (fx + force[0]) / c.mass_kg - north * vz + up * vy,
            (fy + force[1]) / c.mass_kg - up * vx,
            (fz + force[2]) / c.mass_kg + north * vx - gravity_m_s2,
        ),
        _angular_acceleration(constants, (tx, ty, tz), rate),
        voltage,
    )


@compiled
def _angular_acceleration(constants: np.ndarray, torque: Vector, rate: Vector) -> Vector:
    """Solve Euler's equation I w' = torque - w x (I w), all in FLU."""
    c = constants[0]
    (tx, ty, tz), (wx, wy, wz) = torque, rate
    ixx, iyy, izz = c.inertia_x_kg_m2, c.inertia_y_kg_m2, c.inertia_z_kg_m2
    if c.is_principal:
        return (
            (tx - (izz - iyy) * wy * wz) / ixx,
            (ty - (ixx - izz) * wz * wx) / iyy,
            (tz - (iyy - ixx) * wx * wy) / izz,
        )
    ixy, ixz, iyz = c.inertia_xy_kg_m2, c.inertia_xz_kg_m2, c.inertia_yz_kg_m2
    hx = ixx * wx + ixy * wy + ixz * wz
    hy = ixy * wx + iyy * wy + iyz * wz
    hz = ixz * wx + iyz * wy + izz * wz
    tx -= wy * hz - wz * hy
    ty -= wz * hx - wx * hz
    tz -= wx * hy - wy * hx
    return (
        c.inverse_x * tx + c.inverse_xy * ty + c.inverse_xz * tz,
        c.inverse_xy * tx + c.inverse_y * ty + c.inverse_yz * tz,
        c.inverse_xz * tx + c.inverse_yz * ty + c.inverse_z * tz,
    )
