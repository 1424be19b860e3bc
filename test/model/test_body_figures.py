# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planes and rovers that cannot be so: each figure of a body, and what PX4 is told of a wing."""
import dataclasses
import math

import pytest
from scipy.optimize import minimize_scalar
from verification import plants

from px4_sim_ros.check.body import body_figures, extent_m
from px4_sim_ros.check.figures import in_cruise
from px4_sim_ros.check.px4 import contradictions
from px4_sim_ros.check.wings import wing_figures
from px4_sim_ros.cli.check_vehicle import examined
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.world import Environment
from px4_sim_ros.spec.configuration import load_configuration
from px4_sim_ros.spec.files import load_vehicle

G, STEP_S = 9.80665, 0.002
WINGED = 'plane', 'standard_vtol', 'tiltrotor', 'tailsitter'


def changed(vehicle, part, **values):
    """Return a vehicle with other values in a section, or in each of its servos or motors."""
    if not isinstance(getattr(vehicle, part), tuple):
        return plants.altered(vehicle, **{part: values})
    return dataclasses.replace(vehicle, **{part: tuple(
        dataclasses.replace(one, **values) for one in getattr(vehicle, part))})


def on_wheels(vehicle, x_m=0.0, z_m=0.0):
    """Return a vehicle whose wheels are elsewhere."""
    return dataclasses.replace(vehicle, wheels=tuple(dataclasses.replace(
        wheel, position_m=(wheel.position_m[0] + x_m, wheel.position_m[1],
                           wheel.position_m[2] + z_m)) for wheel in vehicle.wheels))


def in_other_units(vehicle, factor):
    """Return a vehicle whose moments of inertia are given in a unit that is none of ours."""
    return changed(vehicle, 'body', inertia_kg_m2=tuple(
        factor * moment for moment in vehicle.body.inertia_kg_m2))


def battery_that_settles_at_once(vehicle):
    packs = tuple(dataclasses.replace(pack, polarisation_capacitance_f=0.01)
                  for pack in vehicle.battery.packs)
    return dataclasses.replace(
        vehicle, battery=dataclasses.replace(vehicle.battery, packs=packs))


ALTERED = [
    ('plane', lambda v: changed(v, 'body', mass_kg=300.0), 'mass_kg'),
    ('rover_ackermann', lambda v: changed(v, 'body', mass_kg=0.1), 'mass_kg'),
    # In g m^2.
    ('plane', lambda v: in_other_units(v, 1e3), 'gyration'),
    ('standard_vtol', lambda v: in_other_units(v, 1e3), 'gyration'),
    ('rover_ackermann', lambda v: in_other_units(v, 1e3), 'gyration'),
    ('rover_differential', lambda v: in_other_units(v, 1e-3), 'gyration'),
    ('plane', lambda v: on_wheels(v, x_m=0.12), 'foot_margin_m'),
    ('rover_ackermann', lambda v: on_wheels(v, x_m=0.3), 'foot_margin_m'),
    ('plane', lambda v: on_wheels(v, z_m=0.2), 'standing_height_m'),
    ('rover_ackermann', lambda v: on_wheels(v, z_m=0.2), 'standing_height_m'),
    ('plane', lambda v: changed(v, 'contact_model', stiffness_n_m=100.0), 'contact_sinking_m'),
    ('rover_ackermann', lambda v: changed(v, 'contact_model', stiffness_n_m=100.0),
     'contact_sinking_m'),
    ('plane', lambda v: changed(v, 'contact_model', damping_n_s_m=1.0), 'contact_heave_damping'),
    ('rover_ackermann', lambda v: changed(v, 'contact_model', damping_n_s_m=1.0),
     'contact_heave_damping'),
    ('plane', lambda v: changed(v, 'contact_model', damping_n_s_m=3500.0), 'contact_step'),
    ('rover_ackermann', lambda v: changed(v, 'contact_model', damping_n_s_m=3500.0),
     'contact_step'),
    ('plane', lambda v: changed(v, 'rotor_model', time_constant_up_s=0.001), 'rotor_step'),
    ('plane', lambda v: changed(v, 'servos', lag_s=0.001), 'servo_step'),
    ('rover_ackermann', lambda v: changed(v, 'motors', lag_s=0.0005), 'servo_step'),
    ('plane', battery_that_settles_at_once, 'battery_step')]


@pytest.mark.parametrize(('name', 'alter', 'figure'), ALTERED, ids=[
    f'{name}-{figure}' for name, _, figure in ALTERED])
def test_a_body_that_cannot_be_so_is_named(name, alter, figure):
    found, problems = examined(load_configuration(None, {}, vehicle=alter(load_vehicle(name))))
    assert figure in {sentence.split()[0] for sentence in problems}, problems
    assert sum(figure in some.infos() for some in found) == 1


@pytest.mark.parametrize('name', ['plane', 'rover_ackermann'])
def test_a_body_stands_on_its_wheels(name):
    """And not on its wing tips: weight over stiffness, and the roots of m z'' + c z' + k z."""
    vehicle = load_vehicle(name)
    found = body_figures(vehicle, G, STEP_S)
    mass, wheels = vehicle.body.mass_kg, len(vehicle.wheels)
    k, c = (wheels * value for value in (
        vehicle.contact_model.stiffness_n_m, vehicle.contact_model.damping_n_s_m))
    assert found.contact_sinking_m == pytest.approx(mass * G / k, rel=1e-12)
    assert math.tau * found.contact_heave_hz == pytest.approx(math.sqrt(k / mass), rel=1e-12)
    assert found.contact_heave_damping == pytest.approx(c / (2.0 * math.sqrt(k * mass)), rel=1e-12)
    assert found.foot_margin_m == pytest.approx({'plane': 0.06, 'rover_ackermann': 0.175}[name])


def test_the_farthest_part_of_a_plane_is_its_wing_tip():
    """A rod of its span has a radius of gyration of 1 / sqrt(3) of the half."""
    plane = load_vehicle('plane')
    tip_m = 0.37 + 0.5 * 0.15 / 0.20
    assert extent_m(plane) == pytest.approx(tip_m, rel=0.02)
    rod = changed(plane, 'body', inertia_kg_m2=tuple(
        plane.body.mass_kg * extent_m(plane) ** 2 / 3.0 * share for share in (1.0, 1e-3, 1.0)))
    assert body_figures(rod, G, STEP_S).gyration == pytest.approx(1.0 / math.sqrt(3.0), rel=1e-9)


def test_two_wheels_and_a_skid_are_what_it_stands_on():
    plane = load_vehicle('plane')
    skid = dataclasses.replace(
        plane, wheels=plane.wheels[1:], contact_points_m=((-0.65, 0.0, -0.06), (0.3, 0.0, -0.15)))
    assert body_figures(skid, G, STEP_S).foot_margin_m > 0.05


def test_the_triangle_is_that_of_principal_moments():
    plane = load_vehicle('plane')
    turned = changed(plane, 'body', inertia_products_kg_m2=(0.0, 0.06, 0.0))
    # In the plane of x and z: the mean, and half the difference with the product as the other leg.
    half = math.hypot(0.5 * (0.17 - 0.10), 0.06)
    moments = 0.09, 0.135 - half, 0.135 + half
    assert body_figures(turned, G, STEP_S).inertia_triangle == pytest.approx(
        (moments[0] + moments[1]) / moments[2], rel=1e-12)


@pytest.mark.parametrize('name', ['iris', 'plane', 'rover_ackermann'])
@pytest.mark.parametrize('inertia', [
    {'inertia_kg_m2': (0.01, 0.09, 0.97)},
    {'inertia_kg_m2': (0.10, 0.09, 0.17), 'inertia_products_kg_m2': (0.0, 0.08, 0.0)}])
def test_moments_that_no_body_has_are_refused(name, inertia):
    body = changed(load_vehicle(name), 'body', **inertia).body
    with pytest.raises(ParameterError, match='more than the other two together'):
        body.check('f: body')


def test_the_moments_of_a_sheet_are_not_refused():
    """Nor those as they are measured, with less than a percent missing."""
    body = load_vehicle('iris').body
    for about_z in (0.02, 0.0201):
        dataclasses.replace(body, inertia_kg_m2=(0.01, 0.01, about_z)).check('f: body')
    with pytest.raises(ParameterError):
        dataclasses.replace(body, inertia_kg_m2=(0.01, 0.01, 0.0205)).check('f: body')


def with_other_effect(vehicle, servo):
    """Return a vehicle whose surfaces a servo deflects the other way."""
    return dataclasses.replace(vehicle, surfaces=tuple(
        dataclasses.replace(surface, effect=-surface.effect) if surface.servo == servo else surface
        for surface in vehicle.surfaces))


@pytest.mark.parametrize('name', WINGED)
def test_each_surface_of_the_wrong_sign_is_named(name):
    vehicle = load_vehicle(name)
    assert contradictions(vehicle) == []
    for servo in {surface.servo for surface in vehicle.surfaces} - {''}:
        sentences = contradictions(with_other_effect(vehicle, servo))
        assert sentences, servo
        assert all(s.startswith(f'servos.{servo}: a positive output ') for s in sentences)
        reversed_as_well = changed(with_other_effect(vehicle, servo), 'servos', reverse=True)
        assert not [s for s in contradictions(reversed_as_well) if f'servos.{servo}:' in s]


def test_what_a_surface_does_otherwise_is_said():
    assert contradictions(with_other_effect(load_vehicle('plane'), 'left_aileron')) == [
        'servos.left_aileron: a positive output 6 of PX4 rolls it right; by CA_SV_CS0_TRQ_R = -0.5'
        ' it must be left']


@pytest.mark.parametrize('parameters', [
    {'PWM_MAIN_REV': 128}, {'CA_SV_CS2_TRQ_P': -1.0}, {'PWM_MAIN_FUNC7': 0, 'PWM_MAIN_FUNC8': 204}])
def test_outputs_that_px4_turns_round_or_moves_are_known(parameters):
    """The elevator is output 8; where it is told to be the rudder it is no other way round."""
    plane = load_vehicle('plane')
    told = dataclasses.replace(plane, px4_parameters=plane.px4_parameters | parameters)
    assert bool(contradictions(told)) == ('PWM_MAIN_FUNC8' not in parameters)
    assert not [s for s in contradictions(with_other_effect(told, 'elevator')) if 'elevator' in s]


def problems_of(vehicle):
    return examined(load_configuration(None, {}, vehicle=vehicle))[1]


@pytest.mark.parametrize(('name', 'parameter', 'value', 'sentence'), [
    ('plane', 'FW_AIRSPD_STALL', 2.0, '= 2: stall_speed_m_s is 8.49'),
    ('plane', 'FW_AIRSPD_STALL', 8.3, ''),
    ('plane', 'FW_PR_FF', None, 'is missing, and PX4 has 0.5: 1 / pitch_rate_rad_s at'
     ' FW_AIRSPD_TRIM is 0.69'),
    ('standard_vtol', 'FW_RR_FF', None, 'is missing, and PX4 has 0.1: 1 / roll_rate_rad_s at'
     ' FW_AIRSPD_TRIM is 0.44'),
    ('standard_vtol', 'FW_RR_FF', 0.5, ''),
    ('iris', 'MPC_THR_HOVER', None, 'is missing, and PX4 has 0.5: hover_command is 0.714'),
    ('octo', 'MPC_THR_HOVER', 0.3, '= 0.3: hover_command is 0.561')])
def test_a_parameter_of_px4_that_is_not_as_the_figures_is_named(name, parameter, value, sentence):
    """Without it in the file PX4 has that of its airframe or its default."""
    vehicle = load_vehicle(name)
    assert problems_of(vehicle) == []
    told = {key: entry for key, entry in vehicle.px4_parameters.items() if key != parameter}
    if value is not None:
        told[parameter] = value
    expected = [f"px4_parameters.{parameter} {sentence}"] if sentence else []
    assert problems_of(dataclasses.replace(vehicle, px4_parameters=told)) == expected


@pytest.mark.parametrize('name', ['iris', 'x500', 'hexa', 'standard_vtol', 'octo', 'tailsitter'])
def test_rotors_in_the_wrong_order_are_named(name):
    """Where the file has no CA_ROTORn_ of them, against those of PX4's airframe."""
    vehicle = load_vehicle(name)
    one, two, *others = vehicle.rotors
    sentences = contradictions(dataclasses.replace(vehicle, rotors=(two, one, *others)))
    assert len(sentences) >= 2 and all('CA_ROTOR' in sentence for sentence in sentences)
    if name == 'iris':
        assert sentences[0] == (
            'rotors: the one of motor 1 is -0.13 m forward and -0.2 m to the right and turns ccw;'
            ' PX4 has it at CA_ROTOR0_PX = 0.1515, CA_ROTOR0_PY = 0.245, CA_ROTOR0_KM = 0.05')


def test_a_rotor_that_no_output_drives_is_named():
    octo = load_vehicle('octo')
    told = {k: v for k, v in octo.px4_parameters.items() if k != 'CA_ROTOR_COUNT'}
    sentences = contradictions(dataclasses.replace(octo, px4_parameters=told))
    assert len(sentences) == 4 and all('no output of PX4 drives' in s for s in sentences)


@pytest.mark.parametrize('name', ['rover_ackermann', 'rover_differential', 'iris'])
def test_a_hull_that_does_not_enclose_the_centre_of_mass_is_named(name):
    vehicle = dataclasses.replace(load_vehicle(name), hull_points_m=())
    assert any(s.startswith('hull_margin_m = ') for s in problems_of(vehicle))


# Figures of the wing against closed forms, of a plane so plain that it has them.
#
# The quarter chords of its wing are at the centre of mass, and neither body nor propeller has a
# drag. So in trim the tail carries nothing, and what turns it is only the tail.

HALF_SPAN_M, TAIL_M, CHORD_M = 0.37, 0.60, 0.20
WING_M2, TAIL_M2, TRAVEL = 0.30, 0.055, 0.40
ASPECT, STALL_RAD, DRAG_0, AILERON, ELEVATOR = 7.5, 0.30, 0.015, -0.12, -0.45
ZERO_LIFT_RAD = -0.12
TAIL_ASPECT, TAIL_DRAG = 4.0, 0.012


def slope(aspect):
    return math.pi * aspect / (1.0 + math.sqrt(1.0 + 0.25 * aspect ** 2))


@pytest.fixture(scope='module')
def plane():
    real = load_vehicle('plane')
    half = dataclasses.replace(
        real.surfaces[0], normal=(0.0, 0.0, 1.0), area_m2=0.5 * WING_M2, chord_m=CHORD_M,
        aspect_ratio=ASPECT, zero_lift_rad=ZERO_LIFT_RAD, stall_rad=STALL_RAD, drag_0=DRAG_0,
        moment_0=0.0, effect=AILERON, efficiency=0.85)
    tail = dataclasses.replace(
        real.surfaces[2], position_m=(-TAIL_M, 0.0, 0.0), area_m2=TAIL_M2, zero_lift_rad=0.0,
        aspect_ratio=TAIL_ASPECT, drag_0=TAIL_DRAG, effect=ELEVATOR)
    plain = dataclasses.replace(real, surfaces=(
        dataclasses.replace(half, position_m=(0.0, HALF_SPAN_M, 0.0)),
        dataclasses.replace(half, name='right_wing', position_m=(0.0, -HALF_SPAN_M, 0.0),
                            servo='right_aileron'), tail))
    return plants.altered(plain, body={'quadratic_drag_n_s2_m2': 0.0}, rotor_model={
        'drag_coefficient_n_s2_m': 0.0, 'rolling_moment_coefficient_n_s2': 0.0})


@pytest.fixture(scope='module')
def air(world):
    return Environment.of(world)


@pytest.fixture(scope='module')
def found(plane, air):
    return wing_figures(plane, air)


def lift_coefficient(alpha, aspect, stall):
    """Return it by equations 4.9 and 4.10 of Beard & McLain, with the plate of Viterna."""
    up, down = math.exp(-50.0 * (alpha - stall)), math.exp(50.0 * (alpha + stall))
    share = (1.0 + up + down) / ((1.0 + up) * (1.0 + down))
    plate = (1.11 + 0.018 * aspect) * math.sin(alpha) * math.cos(alpha)
    return (1.0 - share) * slope(aspect) * alpha + share * plate


def test_stall_speed(found, plane, air):
    """Where the most lift of the wing is the weight: a tail that lifts as well would turn it."""
    best = minimize_scalar(
        lambda a: -WING_M2 * lift_coefficient(a - ZERO_LIFT_RAD, ASPECT, STALL_RAD),
        bounds=(0.05, 0.3), method='bounded')
    weight = plane.body.mass_kg * air.gravity_m_s2(0.0)
    assert found.stall_speed_m_s == pytest.approx(
        math.sqrt(2.0 * weight / (air.density_kg_m3(0.0) * -best.fun)), rel=3e-3)
    assert found.trim_speed_m_s == pytest.approx(1.6 * found.stall_speed_m_s, rel=1e-12)


def test_trim(found, plane, air):
    """The wing carries the weight, but for the little that the thrust does.

    The tail lifts by as much as turns the vehicle the other way than its own drag does.
    """
    attack = math.radians(found.trim_attack_deg)
    lift = pressure(found, air) * WING_M2 * slope(ASPECT) * (attack - ZERO_LIFT_RAD)
    thrust = lift / found.glide_ratio
    assert lift + thrust * math.tan(attack) == pytest.approx(
        plane.body.mass_kg * air.gravity_m_s2(0.0), rel=1e-3)
    tail_attack = TAIL_DRAG * math.tan(attack) / slope(TAIL_ASPECT)
    assert found.trim_deflection == pytest.approx(
        -(attack + tail_attack) / (ELEVATOR * TRAVEL), rel=1e-3)


def pressure(found, air):
    return 0.5 * air.density_kg_m3(0.0) * found.trim_speed_m_s ** 2


def coefficients(found):
    """Return lift and drag of the whole plane in trim, / pressure / area of the wing."""
    lift = slope(ASPECT) * (math.radians(found.trim_attack_deg) - ZERO_LIFT_RAD)
    return lift, (DRAG_0 + lift ** 2 / (math.pi * 0.85 * ASPECT) + TAIL_DRAG * TAIL_M2 / WING_M2)


def test_glide_ratio(found):
    """Of a parabolic polar, with the drag of a tail that does not lift."""
    lift, drag = coefficients(found)
    assert found.glide_ratio == pytest.approx(lift / drag, rel=1e-3)


def test_static_margin(found):
    """All of the moment is the tail's; the thrust, which is the drag, turns with the vehicle."""
    _, drag = coefficients(found)
    slopes = slope(ASPECT) * WING_M2 + slope(TAIL_ASPECT) * TAIL_M2 + drag * WING_M2
    cosine = math.cos(math.radians(found.trim_attack_deg))
    moment = TAIL_M * cosine * TAIL_M2 * (slope(TAIL_ASPECT) + TAIL_DRAG)
    assert found.static_margin == pytest.approx(moment / slopes / CHORD_M, rel=3e-3)


def test_roll_rate(found):
    """It turns so fast that each half meets no more lift than at rest: y p / V = effect delta.

    But for the drag of the half that goes down.
    """
    rate = found.trim_speed_m_s * abs(AILERON) * TRAVEL / HALF_SPAN_M
    assert found.roll_rate_rad_s == pytest.approx(rate, rel=5e-3)


def test_pitch_rate(found, plane, air):
    """The tail stays in the flow that it makes by turning, and the lift turns the path as fast."""
    lift_per_rad = pressure(found, air) * WING_M2 * slope(ASPECT)
    speed = found.trim_speed_m_s
    attack_per_rate = plane.body.mass_kg * speed / lift_per_rad
    assert found.pitch_rate_rad_s == pytest.approx(
        -ELEVATOR * TRAVEL / (attack_per_rate + TAIL_M / speed), rel=0.02)


@pytest.mark.parametrize('name', ['plane', 'standard_vtol', 'tiltrotor', 'tailsitter'])
def test_an_elevator_that_holds_the_nose_up_takes_lift_away(name, air):
    """So the stall in trim is faster than the lift of all surfaces, undeflected, would have it."""
    vehicle = in_cruise(load_vehicle(name))
    trimmed = wing_figures(vehicle, air).stall_speed_m_s
    fixed = dataclasses.replace(vehicle, servos=tuple(
        dataclasses.replace(servo, travel_rad=1e-6) for servo in vehicle.servos))
    assert trimmed > 1.02 * wing_figures(fixed, air).stall_speed_m_s
