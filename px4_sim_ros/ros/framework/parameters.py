# Copyright 2026 px4_sim_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The described parameters of a node as ROS parameters."""
from __future__ import annotations

import contextlib
import copy
import sys
import typing

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import Info, range_text
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.spec.configuration import (
    NodeConfiguration,
    node_configuration,
    vehicle_parameters,
)
from px4_sim_ros.spec.parameter_files import FlatParameters, default_parameters
from px4_sim_ros.step import graph

# What rclpy itself declares on every node.
_RCLPY_PARAMETERS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')
_LARGEST_INTEGER = 2 ** 63 - 1


class ParameterValidation:
    """Mixed into a node, before its class: it refuses values before rclpy does.

    rclpy would say neither what is allowed nor why.
    """

    def check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Return whether parameters can be set, and if not, why."""
        raise NotImplementedError

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set all of them or, with the reason, none."""
        result = self.check_changes(parameter_list)
        if not result.successful:
            return result
        set_all = super().set_parameters_atomically     # type: ignore[misc]  # of the node
        return typing.cast(SetParametersResult, set_all(parameter_list))

    def set_parameters(self, parameter_list: list[Parameter]) -> list[SetParametersResult]:
        """Set each that can be set."""
        return [self.set_parameters_atomically([parameter]) for parameter in parameter_list]


def declare(node: Node, name: str) -> None:
    """Declare all parameters of a node with description, unit and range.

    The node must have been made with `automatically_declare_parameters_from_overrides`:
    so that an unknown name can be refused by `read` instead of being ignored.
    """
    infos = WorldParameters.infos() | graph.load(graph.spec_of(name).parameters).infos()
    for key, default in _defaults(node, name).items():
        info = infos[key.partition('.')[0]]
        unit = f" [{info['unit']}]" if info['unit'] else ''
        words = {'description': f"{info['description']}{unit}",
                 'additional_constraints': range_text(info)}
        describe = _describer(node, key, default)
        try:
            describe(ParameterDescriptor(**words, **_range(default, info)))
        except InvalidParameterValueException:
            # `read` refuses it, in one sentence.
            describe(ParameterDescriptor(**words))


def _describer(
    node: Node, key: str, default: typing.Any,
) -> typing.Callable[[ParameterDescriptor], object]:
    """Return the setter of a parameter's descriptor; the value is the default if none is given."""
    value = default
    if node.has_parameter(key):
        given = node.get_parameter(key)
        value = _like(default, given.value)
        if value is given.value:
            # To declare it again takes twice as long: all listeners are notified.
            def describe(descriptor: ParameterDescriptor) -> None:
                descriptor.type = given.type_.value
                node.set_descriptor(key, descriptor)
            return describe
        node.undeclare_parameter(key)
    return lambda descriptor: node.declare_parameter(key, value, descriptor, ignore_override=True)


def _defaults(node: Node, name: str) -> FlatParameters:
    """Return the values where none are given: the defaults, and those of the vehicle's file."""
    found = default_parameters(name)
    if all(node.has_parameter(key) for key in found):
        return found       # `fly` and launch files give all: that of the vehicle is among them
    vehicle = (node.get_parameter('vehicle').value if node.has_parameter('vehicle')
               else found['vehicle'])
    with contextlib.suppress(ParameterError):       # `read` refuses it, in one sentence
        found |= vehicle_parameters(str(vehicle), name)
    return found


def _range(default: typing.Any, info: Info) -> dict[str, list[IntegerRange | FloatingPointRange]]:
    """Return the field of a descriptor that holds the range, for editors; {} for none.

    It includes both ends: that a value must be greater than its bound is in words only.
    """
    lowest = info['minimum'] if info['above'] is None else info['above']
    highest = info['maximum']
    if lowest is None and highest is None:
        return {}
    if type(default) is int:
        return {'integer_range': [IntegerRange(
            from_value=-_LARGEST_INTEGER if lowest is None else int(lowest),
            to_value=_LARGEST_INTEGER if highest is None else int(highest))]}
    if type(default) is float:
        return {'floating_point_range': [FloatingPointRange(
            from_value=-sys.float_info.max if lowest is None else float(lowest),
            to_value=sys.float_info.max if highest is None else float(highest))]}
    return {}


def make_read_only(node: Node, live: typing.Container[str]) -> None:
    """Mark all parameters of the table as what cannot be set, but for those named."""
    for key in node.get_parameters_by_prefix(''):
        if key not in live and not key.startswith(_RCLPY_PARAMETERS):
            descriptor = copy.deepcopy(node.describe_parameter(key))
            descriptor.read_only = True
            node.set_descriptor(key, descriptor)


def _like(default: typing.Any, given: typing.Any) -> typing.Any:
    """Return the given values, whole numbers as floats where those are wanted."""
    if isinstance(default, float) and type(given) is int:
        return float(given)
    is_list = isinstance(default, list) and hasattr(given, '__iter__')
    if is_list and all(type(v) is int for v in given):
        return [float(v) for v in given]
    return given


def read(node: Node, name: str, changes: typing.Iterable[Parameter] = ()) -> NodeConfiguration:
    """Return the validated parameters, with `changes` laid over them."""
    values: FlatParameters = {
        key: typing.cast(Parameter, parameter).value      # its annotation says otherwise
        for key, parameter in node.get_parameters_by_prefix('').items()
        if not key.startswith(_RCLPY_PARAMETERS)
    }
    values |= {p.name: p.value for p in changes if not p.name.startswith(_RCLPY_PARAMETERS)}
    return node_configuration(name, values)


def check_changes(
    node: Node, name: str, changes: list[Parameter], refused: typing.Container[str], why: str,
) -> SetParametersResult:
    """Answer a request to set parameters."""
    for change in changes:
        if change.name in refused:
            return SetParametersResult(
                successful=False, reason=f'{name}.{change.name}: cannot be set {why}')
    try:
        read(node, name, changes)
    except ParameterError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return SetParametersResult(successful=True)
