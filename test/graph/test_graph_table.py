"""The table of nodes and topics is consistent, and everything it names exists."""
import subprocess
import sys

from px4_sim_ros import graph
from px4_sim_ros.configuration import default_parameters
from px4_sim_ros.nodes.message_types import message_class


def test_every_input_is_published_by_a_node_of_the_table():
    for spec in graph.NODES.values():
        for name in spec.inputs:
            assert graph.TOPICS[name].publisher in graph.NODES


def test_every_name_in_the_table_can_be_imported():
    for spec in graph.NODES.values():
        for path in filter(None, (spec.node, spec.parameters, spec.model)):
            assert isinstance(graph.load(path), type)
    for topic in graph.TOPICS.values():
        assert message_class(topic.type)


def test_every_period_has_a_value():
    periods = {k for k in default_parameters('manager') if k.startswith('periods_us.')}
    used = {f'periods_us.{t.period}' for t in graph.TOPICS.values()
            if t.period != graph.EVERY_STEP}
    assert used == periods


def test_a_launch_file_can_read_the_table_without_ros():
    code = ("import sys; sys.modules['rclpy'] = None\n"
            "from px4_sim_ros import graph, configuration\n"
            "configuration.load_configuration(None, {})\n")
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0
