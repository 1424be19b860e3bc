// Copyright 2026 px4_sim_ros maintainers
// SPDX-License-Identifier: Apache-2.0
/* The least that a simulator can be: the ceiling for simulators on PX4's HIL link.
 *
 * One vehicle as a rigid body with rotors that lag, an IMU in each step, magnetometer, barometer
 * and GNSS at their periods, with noise, as MAVLink 2 over TCP, in lockstep: each step waits for
 * its HIL_ACTUATOR_CONTROLS. World axes are ENU, body axes FLU.
 *
 * All numbers are arguments NAME=VALUE, in SI units; see `settings`. For each rotor
 * rotor=X,Y,SPIN, where SPIN is 1 for counterclockwise. Once a simulated second it prints a line:
 * simulated time in us, wall time and wall time waited for answers in ns, height in m, steps
 * without an answer since it has answered first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROTORS = 16, SUBSTEPS = 4, PRINTED_US = 1000000 };
enum { HIL_SENSOR = 107, HIL_GPS = 113, HIL_ACTUATOR_CONTROLS = 93 };
enum { HIL_SENSOR_EXTRA = 108, HIL_GPS_EXTRA = 124, HIL_ACTUATOR_CONTROLS_EXTRA = 47 };
enum { IMU_FIELDS = 0x3F, MAG_FIELDS = 0x1C0, BARO_FIELDS = 0x1A00, ARMED = 128 };

static const double EARTH_RADIUS_M = 6371000.0, PA_PER_HPA = 100.0, GAUSS_PER_TESLA = 1e4;

/* Settings */

static double port, freewheel_s, gap_s, awake_s, step_us, mag_us, baro_us, gps_us, mass, ixx, iyy,
    izz, thrust, moment, lag_up, lag_down, gain, offset, max_speed, drag, gravity, latitude,
    longitude, altitude, mag_east, mag_north, mag_up, accel_noise, gyro_noise, mag_noise,
    baro_noise, velocity_noise;
static struct { const char *name; double *value; } settings[] = {
    {"port", &port},
    {"freewheel_s", &freewheel_s},   /* s that a step waits while the autopilot boots */
    {"gap_s", &gap_s},               /* s that it waits once the autopilot has answered one */
    {"awake_s", &awake_s},           /* s that it asks for an answer before it sleeps */
    {"step_us", &step_us}, {"mag_us", &mag_us}, {"baro_us", &baro_us},
    {"gps_us", &gps_us}, {"mass", &mass}, {"ixx", &ixx}, {"iyy", &iyy}, {"izz", &izz},
    {"thrust", &thrust},         /* N s^2, times the square of the speed in rad/s */
    {"moment", &moment},         /* m, times the thrust */
    {"lag_up", &lag_up}, {"lag_down", &lag_down}, {"gain", &gain}, {"offset", &offset},
    {"max_speed", &max_speed}, {"drag", &drag}, {"gravity", &gravity}, {"latitude", &latitude},
    {"longitude", &longitude}, {"altitude", &altitude}, {"mag_east", &mag_east},
    {"mag_north", &mag_north}, {"mag_up", &mag_up}, {"accel_noise", &accel_noise},
    {"gyro_noise", &gyro_noise}, {"mag_noise", &mag_noise}, {"baro_noise", &baro_noise},
    {"velocity_noise", &velocity_noise},
};
static struct { double x, y, spin, speed; } rotors[MAX_ROTORS];
static int rotor_count;

static void read_argument(const char *argument) {
    double x, y, spin;
    if (sscanf(argument, "rotor=%lf,%lf,%lf", &x, &y, &spin) == 3 && rotor_count < MAX_ROTORS) {
        rotors[rotor_count].x = x, rotors[rotor_count].y = y, rotors[rotor_count++].spin = spin;
        return;
    }
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : 0;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (length && strlen(settings[i].name) == length
            && !strncmp(argument, settings[i].name, length)) {
            *settings[i].value = atof(equals + 1);
            return;
        }
    fprintf(stderr, "unknown argument %s\n", argument);
    exit(2);
}

/* Time and chance */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static double uniform(void) {
    static uint64_t x = 88172645463325252ULL;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return (x >> 11) * 0x1p-53;
}

/* Near enough to normal, with standard deviation 1. */
static double noise(void) {
    return (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7320508;
}

/* The vehicle */

static double p[3], v[3], q[4] = {1.0, 0.0, 0.0, 0.0}, w[3], specific_force[3];
static double rotation[3][3];      /* body to world */

static void set_rotation(void) {
    double a = q[0], b = q[1], c = q[2], d = q[3];
    rotation[0][0] = 1 - 2 * (c * c + d * d), rotation[0][1] = 2 * (b * c - a * d);
    rotation[0][2] = 2 * (b * d + a * c), rotation[1][0] = 2 * (b * c + a * d);
    rotation[1][1] = 1 - 2 * (b * b + d * d), rotation[1][2] = 2 * (c * d - a * b);
    rotation[2][0] = 2 * (b * d - a * c), rotation[2][1] = 2 * (c * d + a * b);
    rotation[2][2] = 1 - 2 * (b * b + c * c);
}

static void to_body(const double world[3], double body[3]) {
    for (int i = 0; i < 3; i++)
        body[i] = rotation[0][i] * world[0] + rotation[1][i] * world[1] + rotation[2][i] * world[2];
}

static void move(const float controls[16], int armed, double dt) {
    double lift = 0.0, torque[3] = {0.0, 0.0, 0.0}, acceleration[3];
    for (int i = 0; i < rotor_count; i++) {
        double asked = armed ? fmin(fmax(gain * controls[i] + offset, 0.0), max_speed) : 0.0;
        double lag = asked > rotors[i].speed ? lag_up : lag_down;
        rotors[i].speed += (asked - rotors[i].speed) * dt / lag;
        double force = thrust * rotors[i].speed * rotors[i].speed;
        lift += force;
        torque[0] += rotors[i].y * force;
        torque[1] -= rotors[i].x * force;
        torque[2] -= rotors[i].spin * moment * force;
    }
    set_rotation();
    double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        acceleration[i] = (rotation[i][2] * lift - drag * speed * v[i]) / mass;
    acceleration[2] -= gravity;
    if (p[2] <= 0.0 && acceleration[2] <= 0.0) {      /* on the ground it stands as it does */
        memset(acceleration, 0, sizeof acceleration);
        memset(v, 0, sizeof v), memset(w, 0, sizeof w);
    } else {
        double rate[3] = {(torque[0] - (izz - iyy) * w[1] * w[2]) / ixx,
                          (torque[1] - (ixx - izz) * w[2] * w[0]) / iyy,
                          (torque[2] - (iyy - ixx) * w[0] * w[1]) / izz};
        for (int i = 0; i < 3; i++)
            v[i] += acceleration[i] * dt, p[i] += v[i] * dt, w[i] += rate[i] * dt;
        double a = q[0], b = q[1], c = q[2], d = q[3], h = 0.5 * dt;
        q[0] += h * (-b * w[0] - c * w[1] - d * w[2]), q[1] += h * (a * w[0] + c * w[2] - d * w[1]);
        q[2] += h * (a * w[1] + d * w[0] - b * w[2]), q[3] += h * (a * w[2] + b * w[1] - c * w[0]);
        double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        for (int i = 0; i < 4; i++)
            q[i] /= norm;
    }
    double felt[3] = {acceleration[0], acceleration[1], acceleration[2] + gravity};
    to_body(felt, specific_force);
}

/* MAVLink 2 */

static uint16_t checksum(const uint8_t *data, size_t length, uint8_t extra) {
    uint16_t sum = 0xFFFF;
    for (size_t i = 0; i <= length; i++) {
        uint8_t x = (i < length ? data[i] : extra) ^ (uint8_t)sum;
        x ^= x << 4;
        sum = (sum >> 8) ^ (uint16_t)(x << 8) ^ (uint16_t)(x << 3) ^ (x >> 4);
    }
    return sum;
}

static size_t frame(uint8_t *out, uint32_t id, uint8_t extra, const void *payload, size_t length) {
    static uint8_t sequence;
    while (length > 1 && !((const uint8_t *)payload)[length - 1])
        length--;                                     /* zeros at the end are not sent */
    const uint8_t head[10] = {0xFD, length, 0, 0, sequence++, 1, 200, id, id >> 8, id >> 16};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, payload, length);
    uint16_t sum = checksum(out + 1, sizeof head - 1 + length, extra);
    out[sizeof head + length] = sum, out[sizeof head + length + 1] = sum >> 8;
    return sizeof head + length + 2;
}

static size_t sensor_frame(uint8_t *out, int64_t time_us) {
    struct __attribute__((packed)) {
        uint64_t time_us;
        float acc[3], gyro[3], mag[3], pressure, differential, pressure_altitude, temperature;
        uint32_t fields;
        uint8_t id;
    } m = {.time_us = time_us, .fields = IMU_FIELDS};
    for (int i = 0; i < 3; i++) {
        double sign = i ? -1.0 : 1.0;                 /* FLU to FRD */
        m.acc[i] = sign * specific_force[i] + accel_noise * noise();
        m.gyro[i] = sign * w[i] + gyro_noise * noise();
    }
    if (time_us % (int64_t)mag_us == 0) {
        const double field[3] = {mag_east, mag_north, mag_up};
        double body[3];
        to_body(field, body);
        m.fields |= MAG_FIELDS;
        for (int i = 0; i < 3; i++)
            m.mag[i] = ((i ? -body[i] : body[i]) + mag_noise * noise()) * GAUSS_PER_TESLA;
    }
    if (time_us % (int64_t)baro_us == 0) {            /* standard atmosphere */
        double height = altitude + p[2];
        m.fields |= BARO_FIELDS;
        m.pressure = (101325.0 * pow(1.0 - 0.0065 * height / 288.15, 5.255880)
                      + baro_noise * noise()) / PA_PER_HPA;
        m.pressure_altitude = height;
        m.temperature = 15.0 - 0.0065 * height;
    }
    return frame(out, HIL_SENSOR, HIL_SENSOR_EXTRA, &m, sizeof m);
}

static size_t gps_frame(uint8_t *out, int64_t time_us) {
    struct __attribute__((packed)) {
        uint64_t time_us;
        int32_t lat, lon, alt;
        uint16_t eph, epv, speed;
        int16_t vn, ve, vd;
        uint16_t course;
        uint8_t fix, satellites, id;
        uint16_t yaw;
    } m = {.time_us = time_us, .eph = 90, .epv = 178, .fix = 3, .satellites = 10};
    double degree = EARTH_RADIUS_M * M_PI / 180.0;
    double east = v[0] + velocity_noise * noise(), north = v[1] + velocity_noise * noise();
    m.lat = lround((latitude + p[1] / degree) * 1e7);
    m.lon = lround((longitude + p[0] / (degree * cos(latitude * M_PI / 180.0))) * 1e7);
    m.alt = lround((altitude + p[2]) * 1e3);
    m.vn = lround(north * 1e2), m.ve = lround(east * 1e2);
    m.vd = lround((velocity_noise * noise() - v[2]) * 1e2);
    m.speed = lround(hypot(east, north) * 1e2);
    m.course = fmod(atan2(east, north) * 180.0 / M_PI + 360.0, 360.0) * 1e2;
    return frame(out, HIL_GPS, HIL_GPS_EXTRA, &m, sizeof m);
}

/* The link */

static float controls[16];
static int armed;

/* Receive, awake for `awake_s` and asleep after that; return 0 when nothing has come by a time. */
static size_t received(int link, uint8_t *buffer, size_t room, int64_t deadline_ns) {
    int64_t asleep_ns = now_ns() + (int64_t)(awake_s * 1e9);
    for (;;) {
        ssize_t got = recv(link, buffer, room, MSG_DONTWAIT);
        if (got > 0)
            return got;
        if (got == 0 || errno != EAGAIN)
            exit(0);                                  /* the autopilot has ended */
        int64_t at_ns = now_ns(), left_ns = deadline_ns - at_ns;
        struct pollfd ready = {.fd = link, .events = POLLIN};
        if (left_ns <= 0
            || (at_ns >= asleep_ns && poll(&ready, 1, (left_ns + 999999) / 1000000) == 0))
            return 0;
    }
}

/* Read answers, at most for a time; return whether one to `time_us` came. */
static int answered(int link, int64_t time_us, int *spoke) {
    static uint8_t buffer[8192];
    static size_t filled;
    int64_t deadline_ns = now_ns() + (int64_t)((*spoke ? gap_s : freewheel_s) * 1e9);
    for (int found = 0; !found;) {
        size_t got = received(link, buffer + filled, sizeof buffer - filled, deadline_ns), at = 0;
        if (!got)
            return 0;
        filled += got;
        while (filled - at >= 12) {
            const uint8_t *f = buffer + at;
            size_t length = f[1];
            if (f[0] != 0xFD) {
                at++;
                continue;
            }
            if (filled - at < length + 12)
                break;
            uint32_t id = f[7] | f[8] << 8 | f[9] << 16;
            uint16_t sum = f[10 + length] | f[11 + length] << 8;
            if (id == HIL_ACTUATOR_CONTROLS
                && sum == checksum(f + 1, 9 + length, HIL_ACTUATOR_CONTROLS_EXTRA)) {
                uint8_t payload[81] = {0};
                int64_t answers_us;
                memcpy(payload, f + 10, length < sizeof payload ? length : sizeof payload);
                memcpy(&answers_us, payload, sizeof answers_us);
                memcpy(controls, payload + 16, sizeof controls);
                armed = payload[80] & ARMED;
                *spoke = 1;
                found = found || answers_us == time_us;
            }
            at += length + 12;
        }
        memmove(buffer, buffer + at, filled - at);
        filled -= at;
        if (found)
            return 1;
    }
    return 1;
}

static int accepted(void) {
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1)) {
        fprintf(stderr, "port %.0f: %s\n", port, strerror(errno));
        exit(2);
    }
    int link = accept(listener, NULL, NULL);
    setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return link;
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++)
        read_argument(arguments[i]);
    signal(SIGPIPE, SIG_IGN);
    int link = accepted(), spoke = 0;
    int64_t waited_ns = 0, misses = 0;
    for (int64_t time_us = step_us;; time_us += step_us) {
        uint8_t out[512];
        size_t length = 0;
        for (int i = 0; i < SUBSTEPS; i++)
            move(controls, armed, step_us * 1e-6 / SUBSTEPS);
        set_rotation();
        if (time_us % (int64_t)gps_us == 0)
            length = gps_frame(out, time_us);
        length += sensor_frame(out + length, time_us);
        int64_t sent_ns = now_ns();
        if (send(link, out, length, 0) < 0)
            return 0;
        int had_spoken = spoke;
        if (!answered(link, time_us, &spoke))
            misses += had_spoken;
        int64_t end_ns = now_ns();
        waited_ns += end_ns - sent_ns;
        if (time_us % PRINTED_US == 0) {
            printf("%lld %lld %lld %.3f %lld\n", (long long)time_us, (long long)end_ns,
                   (long long)waited_ns, p[2], (long long)misses);
            fflush(stdout);
        }
    }
}
