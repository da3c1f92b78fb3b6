import pytest

from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.polls.settings.record_size_limit import RecordSizeLimit
from support.observer.fakes import fake_context


class Cluster:
    def __init__(self, answer):
        self.answer = answer

    def topic_setting(self, topic, name):
        assert (topic, name) == ("__consumer_offsets", "max.message.bytes")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def reported(answer):
    context = fake_context(Cluster(answer))
    RecordSizeLimit(context)()
    return context.meters.of("offsets_limit")


def test_the_limit_is_reported():
    assert reported("1048588") == [(1_048_588,)]


@pytest.mark.parametrize("answer", [None, "", "much", AccessDeniedError("no"), ClusterError("away")])
def test_without_a_response_the_limit_is_unknown(answer):
    assert reported(answer) == []
