"""The described parameters of a node as ROS parameters."""
from __future__ import annotations

import typing

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from px4_sim_ros.config.configuration import NodeConfiguration, node_configuration
from px4_sim_ros.config.parameter_files import FlatParameters, default_parameters
from px4_sim_ros.model.errors import ParameterError
from px4_sim_ros.model.parameters import range_text
from px4_sim_ros.model.world import WorldParameters
from px4_sim_ros.step import graph

# What rclpy itself declares on every node.
_RCLPY_PARAMETERS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


def declare(node: Node, name: str) -> None:
    """Declare all parameters of a node with description, unit and range.

    The node must have been made with `automatically_declare_parameters_from_overrides`:
    so that a name that nobody knows can be refused by `read` instead of being ignored.
    """
    infos = WorldParameters.infos() | graph.load(graph.spec_of(name).parameters).infos()
    for key, default in default_parameters(name).items():
        value = default
        if node.has_parameter(key):
            value = _like(default, node.get_parameter(key).value)
            node.undeclare_parameter(key)
        info = infos[key.partition('.')[0]]
        unit = f" [{info['unit']}]" if info['unit'] else ''
        node.declare_parameter(key, value, ParameterDescriptor(
            description=f"{info['description']}{unit}",
            additional_constraints=range_text(info)), ignore_override=True)


def _like(default: typing.Any, given: typing.Any) -> typing.Any:
    """Return what was given with whole numbers as floats, where those are wanted.

    ROS would hold the parameter as whole numbers and refuse others ever after.
    """
    if isinstance(default, float) and type(given) is int:
        return float(given)
    is_list = isinstance(default, list) and hasattr(given, '__iter__')
    if is_list and all(type(v) is int for v in given):
        return [float(v) for v in given]
    return given


def read(node: Node, name: str, changes: typing.Iterable[Parameter] = ()) -> NodeConfiguration:
    """Return the validated parameters, with `changes` laid over them.

    :raises ParameterError: one sentence that names the parameter and what is allowed
    """
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
    """Answer a request to set parameters.

    :param refused: names that cannot be set now
    :param why: the reason for that, as the end of a sentence
    """
    for change in changes:
        if change.name in refused:
            return SetParametersResult(
                successful=False, reason=f'{name}.{change.name}: cannot be set {why}')
    try:
        read(node, name, changes)
    except ParameterError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return SetParametersResult(successful=True)
