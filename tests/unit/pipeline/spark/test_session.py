"""The messages before Java starts, if Spark cannot start."""

from __future__ import annotations

import pwd

import pytest

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.spark.session import spark_session


def test_a_user_without_a_name_gets_an_error(monkeypatch):
    def unknown(_number):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(
        "rebalance_agent.pipeline.spark.session.find_java_home", lambda: pytest.fail("Java is looked for")
    )
    with pytest.raises(PipelineError, match="Spark needs a user with a name, and /etc/passwd has none for"):
        spark_session()
