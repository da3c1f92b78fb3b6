from structlog.testing import capture_logs

from rebalance_agent.cluster.agent_topics import create_topic
from rebalance_agent.errors import AccessDeniedError

CONFIG = {"cleanup.policy": "compact"}


class Allowed:
    def create_topic(self, name, partitions, config):
        return (name, partitions, config) == ("t", 6, CONFIG)


class Denied:
    servers = "kafka-1:9092,kafka-2:9092"

    def create_topic(self, *_args):
        raise AccessDeniedError("no")


def test_the_topic_is_created_or_without_the_right_the_command_is_printed():
    with capture_logs() as logs:
        assert create_topic(Allowed(), "t", 6, CONFIG, "nothing")
        assert not create_topic(Denied(), "t", 6, CONFIG, "no snapshots")
    assert [log["event"] for log in logs] == ["topic_created", "topic_not_created"]
    assert logs[1]["effect"] == "no snapshots"
    assert logs[1]["command"] == (
        "kafka-topics.sh --bootstrap-server kafka-1:9092,kafka-2:9092 --create --if-not-exists --topic t "
        "--partitions 6 --config cleanup.policy=compact"
    )
