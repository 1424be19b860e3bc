# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What ideal inertial sensors read, and the statistics of noise."""
from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np
from pymavlink.dialects.v20 import common as mavlink
from scipy import integrate
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import quat2mat

from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.model.environment.geodesy import about_up
from px4_sim_ros.model.rotation import matrix
from px4_sim_ros.model.sensors.airspeed import Airspeed, AirspeedParameters
from px4_sim_ros.model.sensors.barometer import Barometer
from px4_sim_ros.model.sensors.gnss import Gnss
from px4_sim_ros.model.sensors.imu import Imu
from px4_sim_ros.model.world import Environment
from verification.checks import check
from verification.earth import earth_fixed, east_north_up
from verification.plants import (
    G_M_S2,
    STILL_TRUTH,
    TILTED,
    at_home,
    build,
    configuration,
    dragless_iris,
    iris,
    quiet_imu,
    truths,
    world,
)

# The ideal accelerometer.


def ideal_imu(**values):
    """Return an IMU without noise."""
    return Imu('imu', quiet_imu(**values), world())


def _force(imu, truth, expected):
    """Return the distance of the specific force; the rate must be the true one, bit by bit."""
    measured = imu.measure(truth)
    if measured.rate_flu != truth.rate_flu:
        return math.inf
    return math.dist(measured.specific_force_flu, expected)


@check('accelerometer at rest', model='IMU without noise on the Iris on the ground',
       reference='+g up', tolerance=1e-9, unit='m/s^2')
def accelerometer_at_rest():
    """Return the difference."""
    truth = build(iris(), at_home(), ground=True).truth()
    return _force(ideal_imu(), truth, (0.0, 0.0, G_M_S2))


@check('accelerometer in free fall', model='IMU without noise, tilted, after 1 s', reference='0',
       tolerance=1e-9, unit='m/s^2')
def accelerometer_in_free_fall():
    """Return the difference."""
    dynamics = build(dragless_iris(), at_home())
    dynamics.state[6:10] = TILTED
    return _force(ideal_imu(), truths(dynamics, 1.0)[-1], (0.0, 0.0, 0.0))


@check('accelerometer on a circle', model='IMU without noise, level, 6 m/s, radius 4 m',
       reference='v^2/r to the middle, g up', tolerance=1e-9, unit='m/s^2')
def accelerometer_on_a_circle():
    """Return the largest difference over headings."""
    speed, radius = 6.0, 4.0
    worst = 0.0
    for heading in np.linspace(-3.0, 3.0, 13).tolist():
        truth = STILL_TRUTH._replace(
            attitude=(math.cos(0.5 * heading), 0.0, 0.0, math.sin(0.5 * heading)),
            velocity_flu=(speed, 0.0, 0.0), rate_flu=(0.0, 0.0, speed / radius),
            acceleration_flu=(0.0, speed ** 2 / radius, 0.0))
        worst = np.maximum(worst, _force(
            ideal_imu(), truth, (0.0, speed ** 2 / radius, G_M_S2)))
    return worst


@check('accelerometer on a lever', model='IMU without noise, 0.1, -0.2, 0.3 m off the centre',
       reference='a - g + w x (w x r) + alpha x r, by numpy.cross', tolerance=1e-9, unit='m/s^2')
def accelerometer_on_a_lever():
    """Return the largest difference over rates and angular accelerations."""
    place, generator, worst = (0.1, -0.2, 0.3), np.random.default_rng(5), 0.0
    for rate, alpha, linear in generator.uniform(-9.0, 9.0, (20, 3, 3)):
        truth = STILL_TRUTH._replace(
            rate_flu=tuple(rate.tolist()), angular_acceleration_flu=tuple(alpha.tolist()),
            acceleration_flu=tuple(linear.tolist()))
        expected = (linear + (0.0, 0.0, G_M_S2) + np.cross(rate, np.cross(rate, place))
                    + np.cross(alpha, place))
        worst = np.maximum(
            worst, _force(ideal_imu(position_m=place), truth, expected))
    return worst


# What shakes it.

@check('vibration of a rotor', model='IMU shaken by a rotor at 1, 2 and 3 times its speed, 250 Hz',
       reference='mean over a sample of A (w / w0)^2 cos(n w t + phase), by SciPy', tolerance=1e-9,
       unit='m/s^2')
def vibration_of_a_rotor():
    """Return the largest difference over harmonics and speeds."""
    period_s, at_rad_s, amplitude, worst = 0.004, 600.0, 2.0, 0.0
    for n, speed in itertools.product((1, 2, 3), (150.0, 600.0, 1100.0)):
        imu = ideal_imu(accel_vibration=tuple(amplitude * (k == n) for k in (1, 2, 3)),
                        vibration_speed_rad_s=at_rad_s)
        times = np.arange(1, 60) * period_s
        forces = np.array([imu.measure(STILL_TRUTH._replace(
            rotor_speeds_rad_s=(speed,), rotor_angles_rad=(
                math.remainder(speed * t, math.tau),))).specific_force_flu for t in times.tolist()])
        size = amplitude * (speed / at_rad_s) ** 2
        waves = np.array([[integrate.quad(
            lambda x, wave=wave, w=n * speed: wave(w * x), t - period_s, t, epsabs=1e-13)[0]
            / period_s for t in times] for wave in (math.cos, math.sin)])
        # The phase is free; the amplitude is not.
        for axis in (forces - (0.0, 0.0, G_M_S2)).T:
            parts = np.linalg.lstsq(waves.T, axis, rcond=None)[0]
            worst = np.maximum(worst, np.abs(waves.T @ parts - axis).max())
            worst = np.maximum(worst, abs(math.hypot(*parts) - size))
    return worst


@check('IMU on an Earth that turns', model='IMU without noise at home: at rest, and in free fall',
       reference='gyro: 7.292115e-5 rad/s about north and up by latitude (NIMA TR8350.2);'
       ' accelerometer: g, and 0 at 30 m/s', tolerance=1e-12, unit='rad/s, m/s^2')
def imu_on_an_earth_that_turns():
    """Return the largest difference over four headings."""
    turning, worst = configuration().world, 0.0
    imu = Imu('imu', quiet_imu(), turning)
    latitude, rate = math.radians(47.397742), 7.292115e-5
    for heading in (0.0, 1.0, 2.5, -2.0):
        attitude = (math.cos(0.5 * heading), 0.0, 0.0, math.sin(0.5 * heading))
        felt = imu.measure(STILL_TRUTH._replace(attitude=attitude))
        north = rate * math.cos(latitude)
        worst = np.max([
            worst, math.dist(felt.specific_force_flu, (0.0, 0.0, G_M_S2)),
            math.dist(felt.rate_flu, (
                north * math.sin(heading), north * math.cos(heading), rate * math.sin(latitude)))])
    dynamics = build(dragless_iris(), Environment.of(turning))
    dynamics.state[3:10] = (30.0, -10.0, 5.0, *TILTED)
    return np.maximum(
        worst, math.hypot(*imu.measure(truths(dynamics, 1.0)[-1]).specific_force_flu))


@check('true airspeed on a hot day', model='HIL_SENSOR at 488 and 3000 m, sea level at 30 deg C',
       reference='PX4 (calc_TAS): v = sqrt(2 dp R T / p), with the temperature of the barometer',
       tolerance=1e-4, unit='relative')
def true_airspeed_on_a_hot_day():
    """Return the largest relative difference from the true 20 m/s."""
    hot = dataclasses.replace(world(), sea_level_temperature_k=303.15)
    nodes, worst = configuration().nodes, 0.0
    tube = Airspeed('airspeed', AirspeedParameters((0.0, 0.0, 0.0), 0.0, 0.0, (0.0, 0.0, 0.0)), hot)
    barometer = Barometer(
        'barometer', dataclasses.replace(nodes['barometer'], noise_pa=0.0), hot)
    for height in (0.0, 2512.0):
        truth = STILL_TRUTH._replace(
            position_enu=(0.0, 0.0, height), velocity_flu=(20.0, 0.0, 0.0))
        message, = mavlink.MAVLink(None).parse_buffer(HilEncoder(hot.atmosphere()).sensor(
            0, None, None, barometer.measure(truth), tube.measure(truth)))
        density = 100.0 * message.abs_pressure / (287.05287 * (message.temperature + 273.15))
        worst = np.maximum(
            worst, abs(math.sqrt(200.0 * message.diff_pressure / density) / 20.0 - 1.0))
    return worst


# Noise.

def imu_record(parameters, period_us, count=100_000):
    """Return rates and specific forces of an IMU that stands still."""
    altered = dataclasses.replace(
        world(), periods_us=world().periods_us | {'imu': period_us})
    imu = Imu('imu', parameters, altered)
    samples = [imu.measure(STILL_TRUTH) for _ in range(count)]
    return (np.array([s.rate_flu for s in samples]),
            np.array([s.specific_force_flu for s in samples]))


def allan_deviations(samples, rate_hz, taus):
    """Return the overlapping Allan deviation at the averaging times, over all axes."""
    import allantools  # takes a while to load
    axes = [allantools.oadev(axis, rate=rate_hz, data_type='freq', taus=taus) for axis in samples.T]
    return axes[0][0], np.sqrt(np.mean([deviation ** 2 for _, deviation, *_ in axes], axis=0))


@functools.cache
def default_imu():
    """Return 400 s of the default IMU at 250 Hz."""
    parameters = configuration().nodes['imu']
    return imu_record(dataclasses.replace(parameters, gyro_random_walk=0.0, accel_random_walk=0.0),
                      4000)


def _white(index, density):
    taus, got = allan_deviations(default_imu()[index], 250.0, np.geomspace(0.004, 20.0, 30))
    taus, got = taus[taus <= 2.0], got[taus <= 2.0]
    exact = density / np.sqrt(taus)
    return 100.0 * np.abs(got / exact - 1.0).max()


@check('Allan deviation: gyro', model='IMU with white noise, 400 s at 250 Hz; 4 ms to 2 s',
       reference='8.7266e-5 rad/s/sqrt(Hz) / sqrt(t), as allantools sees it', tolerance=10.0,
       unit='%')
def allan_deviation_of_the_gyro():
    """Return the largest difference."""
    return _white(0, 8.7266e-5)


@check('Allan deviation: accelerometer', model='IMU with white noise, 400 s at 250 Hz; 4 ms to 2 s',
       reference='6.37e-4 m/s^2/sqrt(Hz) / sqrt(t), as allantools sees it', tolerance=10.0,
       unit='%')
def allan_deviation_of_the_accelerometer():
    """Return the largest difference."""
    return _white(1, 6.37e-4)


@functools.cache
def drifting_imu():
    """Return 10000 s of an IMU at 10 Hz with the figures of the ADIS16448."""
    return imu_record(dataclasses.replace(
        configuration().nodes['imu'], gyro_noise_density=3.3937e-4, gyro_random_walk=3.8785e-5,
        gyro_bias_correlation_time_s=1000.0, accel_noise_density=4e-3, accel_random_walk=6e-3,
        accel_bias_correlation_time_s=300.0), 100_000)


def _drifting(index, density, walk, lasting):
    """Compare with the Allan variance of white noise and a Gauss-Markov process.

    IEEE Std 952-1997, annex C, equations C.8 and C.16.
    """
    taus, got = allan_deviations(drifting_imu()[index], 10.0, np.geomspace(0.1, 300.0, 30))
    decay = np.exp(-taus / lasting)
    white = density ** 2 / taus
    drift = (walk * lasting) ** 2 / taus * (
        1.0 - lasting / (2.0 * taus) * (3.0 - 4.0 * decay + decay ** 2))
    exact = np.sqrt(white + drift)
    tested = taus <= 20.0
    return 100.0 * np.abs(got / exact - 1.0)[tested].max()


GAUSS_MARKOV = 'IEEE Std 952-1997, C.8 and C.16: white noise and Gauss-Markov bias; allantools'


@check('Allan deviation: drifting gyro', reference=GAUSS_MARKOV, tolerance=10.0, unit='%',
       model='IMU with the figures of the ADIS16448, 10000 s at 10 Hz; 0.1 to 20 s')
def allan_deviation_of_a_drifting_gyro():
    """Return the largest difference."""
    return _drifting(0, 3.3937e-4, 3.8785e-5, 1000.0)


@check('Allan deviation: drifting accelerometer', reference=GAUSS_MARKOV, tolerance=10.0, unit='%',
       model='IMU with the figures of the ADIS16448, 10000 s at 10 Hz; 0.1 to 20 s')
def allan_deviation_of_a_drifting_accelerometer():
    """Return the largest difference."""
    return _drifting(1, 4e-3, 6e-3, 300.0)


WALKS = 3.8785e-5, 6e-3


@functools.cache
def walking_imu():
    """Return 400 s of an IMU whose biases drift for ever, without white noise, over the walks."""
    records = imu_record(quiet_imu(
        gyro_random_walk=WALKS[0], gyro_bias_correlation_time_s=1e9,
        accel_random_walk=WALKS[1], accel_bias_correlation_time_s=1e9), 4000)
    return [samples / walk for samples, walk in zip(records, WALKS)]


WALKING = 'IMU with no noise but random walks of 3.8785e-5 and 6e-3, 400 s at 250 Hz; 0.1 and 1.6 s'


@check('Allan deviation: random walk', model=WALKING, reference='K sqrt(t / 3), by allantools',
       tolerance=10.0, unit='%')
def allan_deviation_of_a_random_walk():
    """Return the largest difference over gyro and accelerometer."""
    worst = 0.0
    for samples in walking_imu():
        taus, got = allan_deviations(samples, 250.0, np.array((0.1, 1.6)))
        worst = np.maximum(worst, np.abs(got / np.sqrt(taus / 3.0) - 1.0).max())
    return 100.0 * worst


@check('Allan deviation: slope of a random walk', model=WALKING, reference='+1/2, by allantools',
       tolerance=0.04, unit='')
def slope_of_a_random_walk():
    """Return the largest difference over gyro and accelerometer."""
    worst = 0.0
    for samples in walking_imu():
        _, (short, long) = allan_deviations(samples, 250.0, np.array((0.1, 1.6)))
        worst = np.maximum(worst, abs(math.log(long / short) / math.log(16.0) - 0.5))
    return worst


@check('GNSS antenna on a lever', model='receiver without errors, antenna 0.3, -0.2, 0.5 m off',
       reference='p + R r and R (v + w x r), by NumPy; place by the formulas of the ellipsoid,'
       ' which the map follows within r^2 / 2R = 3e-8 m',
       tolerance=4e-8, unit='m, m/s')
def gnss_antenna():
    """Return the largest difference over attitudes and rates, at home."""
    arm, generator, worst = np.array((0.3, -0.2, 0.5)), np.random.default_rng(6), 0.0
    home = world().local_frame().origin
    axes, origin = east_north_up(home), earth_fixed(home)
    for _ in range(20):
        attitude = generator.normal(size=4)
        attitude /= np.linalg.norm(attitude)
        velocity, rate = generator.uniform(-9.0, 9.0, (2, 3))
        gnss = Gnss('gps', dataclasses.replace(
            configuration().nodes['gps'], horizontal_error_m=0.0, vertical_error_m=0.0,
            velocity_noise_m_s=0.0, delay_s=0.0, position_m=tuple(arm.tolist())), world())
        fix = gnss.measure(STILL_TRUTH._replace(
            attitude=tuple(attitude.tolist()), velocity_flu=tuple(velocity.tolist()),
            rate_flu=tuple(rate.tolist())))
        turn = quat2mat(attitude)
        worst = np.max([
            worst, math.dist(fix.velocity_enu, _converged(home, fix.position) @ turn @ (
                velocity + np.cross(rate, arm))),
            math.dist(axes @ (earth_fixed(fix.position) - origin), turn @ arm)])
    return worst


def _converged(home, place):
    """Return what turns map axes to those of a place near by: meridians converge by its sine."""
    angle = math.radians(home.longitude_deg - place.longitude_deg) * math.sin(
        math.radians(home.latitude_deg))
    return axangle2mat((0.0, 0.0, 1.0), angle)


@check('velocity away from home', model='GNSS and HIL_STATE_QUATERNION, 10 km east of homes at 89,'
       ' 80 and 47 degrees and beyond the pole', reference='difference of the positions sent, in'
       ' east, north and up at the place, by the formulas of the ellipsoid', tolerance=2e-5,
       unit='m/s')
def velocity_away_from_home():
    """Return the largest difference; the map's east-west ways are true to r^2 / 6 R^2."""
    worst = 0.0
    for latitude, place in ((89.0, (1e4, 0.0)), (80.0, (1e4, 0.0)), (47.4, (1e4, 0.0)),
                            (89.95, (3e3, 9e3))):
        there = dataclasses.replace(world(), home_latitude_deg=latitude, home_longitude_deg=20.0)
        gnss = Gnss('gps', dataclasses.replace(
            configuration().nodes['gps'], horizontal_error_m=0.0, vertical_error_m=0.0,
            velocity_noise_m_s=0.0, delay_s=0.0), there)
        moves = np.array((8.0, 2.0, 0.5))
        before, now, after = (gnss.measure(STILL_TRUTH._replace(
            position_enu=(*np.add(place, t * moves[:2]), 0.5 * t), velocity_flu=tuple(moves)))
            for t in (-1.0, 0.0, 1.0))
        expected = 0.5 * east_north_up(now.position) @ (
            earth_fixed(after.position) - earth_fixed(before.position))
        frame = there.local_frame()
        turned = np.array(matrix(about_up(frame.half_turn_at(now.position)))).reshape(3, 3) @ moves
        worst = np.max([worst, math.dist(now.velocity_enu, expected), math.dist(turned, expected)])
    return worst


GNSS_PERIOD_S = 50.0


@functools.cache
def gnss_errors():
    """Return the errors in ENU of 20000 fixes, 50 s apart, by the formulas of the ellipsoid."""
    altered = dataclasses.replace(
        world(), periods_us=world().periods_us | {'gps': round(1e6 * GNSS_PERIOD_S)})
    gnss, home = Gnss('gps', configuration().nodes['gps'], altered), world().local_frame().origin
    axes, origin = east_north_up(home), earth_fixed(home)
    return np.array([
        axes @ (earth_fixed(gnss.measure(STILL_TRUTH).position) - origin) for _ in range(20_000)])


@check('GNSS error: correlation time', model='receiver at rest, 20000 fixes 50 s apart',
       reference='300 s: autocorrelation exp(-t / 300 s), over 50 to 300 s', tolerance=20.0,
       unit='%')
def gnss_correlation_time():
    """Return the largest difference over the axes of the time fitted to the autocorrelation."""
    errors, lags = gnss_errors(), np.arange(1, 7)
    correlations = np.array([
        (errors[lag:] * errors[:-lag]).mean(axis=0) / errors.var(axis=0) for lag in lags])
    t = GNSS_PERIOD_S * lags
    # The line through the origin that fits the logarithms.
    fitted = [-(t @ t) / (t @ np.log(c)) for c in correlations.T]
    return 100.0 * np.abs(np.array(fitted) / 300.0 - 1.0).max()


@check('GNSS error: size', model='receiver at rest, 20000 fixes 50 s apart',
       reference='0.2 m horizontally and 0.5 m vertically, of PX4 sensor_gps_sim; mean zero',
       tolerance=10.0, unit='%')
def gnss_error_size():
    """Return the largest difference of a standard deviation, or of a mean in terms of it."""
    errors, sizes = gnss_errors(), np.array((0.2, 0.2, 0.5))
    off = np.abs((errors.std(axis=0) - sizes, errors.mean(axis=0))) / sizes
    return 100.0 * off.max()
