# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans as QGroundControl saves them, with places in metres from the default home."""
import json

from px4_sim_ros.model.environment.geodesy import GeodeticPosition, LocalFrame

HOME = 47.397742, 8.545594
TAKE_OFF, WAYPOINT, LAND, RETURN = 22, 16, 21, 20
VTOL_TAKE_OFF, SPEED, TRIGGER, JUMP, TURNS = 84, 178, 206, 177, 18
RELATIVE, MISSION = 3, 2
_FRAME = LocalFrame(GeodeticPosition(*HOME, 488.0))


def place(north_m, east_m):
    """Return latitude and longitude."""
    there = _FRAME.to_geodetic((east_m, north_m, 0.0))
    return [there.latitude_deg, there.longitude_deg]


def at(command, north_m, east_m, up_m, *first, frame=RELATIVE, **more):
    """Return a simple item at a place; its first parameters are 0, and the yaw is left open."""
    params = [*first, *[0, 0, 0, None][len(first):], *place(north_m, east_m), up_m]
    return {'AMSLAltAboveTerrain': None, 'Altitude': up_m, 'AltitudeMode': 1, 'autoContinue': True,
            'command': command, 'doJumpId': 1, 'frame': frame, 'params': params,
            'type': 'SimpleItem'} | more


def do(command, *params, **more):
    """Return a simple item without a place."""
    return {'autoContinue': True, 'command': command, 'doJumpId': 1, 'frame': MISSION,
            'params': [*params, *[0] * (7 - len(params))], 'type': 'SimpleItem'} | more


def transects(kind, corners, up_m, trigger_m=5):
    """Return a survey or a corridor scan: along each line photos are taken."""
    items = []
    for number, corner in enumerate(corners):
        items.append(at(WAYPOINT, *corner, up_m))
        items.append(do(TRIGGER, 0 if number % 2 else trigger_m, 0, 1))
    own = {'angle': 0, 'entryLocation': 0, 'flyAlternateTransects': False,
           'polygon': [place(*corner) for corner in corners], 'splitConcavePolygons': False}
    if kind == 'CorridorScan':
        own = {'CorridorWidth': 10, 'EntryPoint': 0, 'polyline': own['polygon'][:2]}
    return {
        'TransectStyleComplexItem': {
            'CameraCalc': {'CameraName': 'Manual (no camera specs)', 'DistanceMode': 1,
                           'AdjustedFootprintFrontal': trigger_m, 'AdjustedFootprintSide': 10,
                           'DistanceToSurface': up_m, 'version': 2},
            'CameraShots': 12, 'CameraTriggerInTurnAround': False, 'HoverAndCapture': False,
            'Items': items, 'Refly90Degrees': False, 'TurnAroundDistance': 0,
            'VisualTransectPoints': [place(*corner) for corner in corners], 'version': 2},
        'complexItemType': kind, 'type': 'ComplexItem',
        'version': 5 if kind == 'survey' else 2, **own}


def landing(kind, approach, land, **more):
    """Return a landing pattern between two places of north, east and up."""
    return {
        'altitudesAreRelative': True, 'complexItemType': kind,
        'landCoordinate': [*place(*land[:2]), land[2]],
        'landingApproachCoordinate': [*place(*approach[:2]), approach[2]],
        'loiterClockwise': True, 'loiterRadius': 50, 'stopTakingPhotos': True,
        'stopVideoPhotos': True, 'type': 'ComplexItem', 'useLoiterToAlt': True, 'version': 1} | more


def polygon(*corners, inclusion=True):
    return {'inclusion': inclusion, 'polygon': [place(*corner) for corner in corners], 'version': 1}


def circle(centre, radius_m, inclusion=True):
    return {'circle': {'center': place(*centre), 'radius': radius_m}, 'inclusion': inclusion,
            'version': 1}


def plan(*items, polygons=(), circles=(), rally=(), **fence):
    """Return the content of a plan; simple items are numbered for jumps."""
    number = 0
    for item in items:
        for one in item.get('TransectStyleComplexItem', {}).get('Items', [item]):
            number += 1
            if 'doJumpId' in one:
                one['doJumpId'] = number
    return {
        'fileType': 'Plan',
        'geoFence': {'circles': [*circles], 'polygons': [*polygons], 'version': 2, **fence},
        'groundStation': 'QGroundControl',
        'mission': {
            'cruiseSpeed': 15, 'firmwareType': 12, 'globalPlanAltitudeMode': 1, 'hoverSpeed': 5,
            'items': [*items], 'plannedHomePosition': [*HOME, 488], 'vehicleType': 2, 'version': 2},
        'rallyPoints': {'points': [[*place(*point[:2]), point[2]] for point in rally],
                        'version': 2},
        'version': 1}


def survey():
    """Return that of examples/survey.plan: two lines in a fence, with a rally point, and back."""
    return plan(
        at(TAKE_OFF, 0, 0, 10), do(SPEED, 1, 2, -1),
        transects('survey', [(5, 10), (35, 10), (35, 20), (5, 20)], 10),
        at(WAYPOINT, 0, 10, 8, 2, frame=RELATIVE), do(RETURN),
        polygons=[polygon((-40, -40), (60, -40), (60, 60), (-40, 60))],
        circles=[circle((20, -20), 8, inclusion=False)], rally=[(-4, 14, 12)])


def write(path, content):
    """Write a plan as QGroundControl does."""
    path.write_text(json.dumps(content, indent=4, sort_keys=True) + '\n')
    return path
