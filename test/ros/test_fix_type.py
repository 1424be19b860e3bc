# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The type of a GNSS fix, from the receiver through its messages to HIL_GPS."""
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import NavSatFix, NavSatStatus

from px4_sim_ros.link.hil.codec import HilEncoder
from px4_sim_ros.link.hil.replies import HilDecoder
from px4_sim_ros.messages import codecs
from px4_sim_ros.model.environment.geodesy import GeodeticPosition
from px4_sim_ros.model.sensors.gnss import FixType, GnssMeasurement
from px4_sim_ros.step import graph

FIX = graph.TOPICS['gps/fix']


def read_fix(data):
    return deserialize_message(data, NavSatFix)


VALUE = GnssMeasurement(
    4000, GeodeticPosition(47.0, 8.0, 535.3), (1.0, 2.0, 3.0), 0.9, 1.78)


@pytest.mark.parametrize(('fix_type', 'status', 'hil', 'satellites'), [
    (FixType.NONE, NavSatStatus.STATUS_NO_FIX, 0, 0),
    (FixType.FIX, NavSatStatus.STATUS_FIX, 3, 9),
    (FixType.SBAS, NavSatStatus.STATUS_SBAS_FIX, 4, 9),
    (FixType.GBAS, NavSatStatus.STATUS_GBAS_FIX, 6, 9)])
def test_fix_type(fix_type, status, hil, satellites):
    """NavSatStatus, back, and GPS_FIX_TYPE; without a fix there are no satellites."""
    value = VALUE._replace(fix_type=fix_type)
    data = codecs.encoder(FIX)(value.time_us, value)
    assert deserialize_message(data, NavSatFix).status.status == status
    read = codecs.decoder(FIX, read_fix)(data)._replace(velocity_enu=value.velocity_enu)
    assert read == value
    frame = HilEncoder().gps(read, 47.3, 9)
    message, = HilDecoder()._mav.parse_buffer(frame)
    assert (message.fix_type, message.satellites_visible) == (hil, satellites)


def test_a_fix_of_unknown_type_is_none():
    """STATUS_UNKNOWN is what nobody has filled."""
    message = deserialize_message(codecs.encoder(FIX)(VALUE.time_us, VALUE), NavSatFix)
    message.status.status = NavSatStatus.STATUS_UNKNOWN
    decode = codecs.decoder(FIX, read_fix)
    for _ in range(2):
        assert decode(serialize_message(message)).fix_type is FixType.NONE
