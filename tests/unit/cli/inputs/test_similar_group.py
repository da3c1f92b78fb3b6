from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.cli import main
from rebalance_agent.cli.inputs import cluster_records, cluster_settings
from rebalance_agent.errors import ClusterError

DECODE = ("decode", "--bootstrap-servers", "127.0.0.1:1", "--group", "billng")


@pytest.fixture
def listed(monkeypatch):
    """Sets the groups that the brokers list, or the error that they answer."""

    def set_names(*names, error=None):
        def list_groups():
            if error:
                raise error
            return SimpleNamespace(groups=[SimpleNamespace(group=name) for name in names])

        monkeypatch.setattr(cluster_settings, "Cluster", lambda _properties: SimpleNamespace(list_groups=list_groups))

    return set_names


def test_a_listed_group_of_a_similar_name_is_suggested(listed):
    listed("billing", "orders")
    assert cluster_settings.similar_group({}, "billng") == "; did you mean billing?"
    assert cluster_settings.similar_group({}, "orders") == ""
    listed(error=ClusterError("no broker answers"))
    assert cluster_settings.similar_group({}, "billng") == ""


@pytest.mark.parametrize(("since", "code", "words"), [((), 1, ""), (("--since", "5"), 0, " from then on")])
def test_decode_reports_a_group_without_records(listed, monkeypatch, capsys, since, code, words):
    monkeypatch.setattr(cluster_records, "cluster_records", lambda _options: iter(()))
    listed("billing")
    assert main.main([*DECODE, *since]) == code
    reported = f"the group 'billng' has no records{words}; did you mean billing?"
    assert capsys.readouterr() == ("", f"rebalance-agent decode: {reported}\n")
