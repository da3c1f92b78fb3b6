"""The API, `watch --once` and `explain` during one group's life on a real Kafka, as separate programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from urllib.parse import quote

import pytest

from rebalance_agent.api.openapi import openapi_document
from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.testing import EmbeddedKafka
from support.http.api import problems
from support.observer.observing import create_topic, eventually, members, observing

pytestmark = pytest.mark.integration


def run(*arguments, code=0, **environment):
    """What the command prints without a warning."""
    out, err = ended(*arguments, code=code, **environment)
    if code:
        return err
    assert "incomplete" not in err
    return out


def ended(*arguments, code=0, **environment):
    """Standard output and standard error of the command; its standard input is no terminal."""
    command = [sys.executable, "-W", "error", "-m", "rebalance_agent.cli.main", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_agent_topic_and_coordinators_log_give_the_same_explanation(kafka):
    unique = uuid.uuid4().hex[:8]
    bootstrap, topic, published = kafka.bootstrap_servers, f"topic-{unique}", f"events-{unique}"
    group = f'a "group"\nwith/slashes {unique}'
    shown = group.replace("\n", "\\n")
    create_topic(bootstrap, topic, 4)
    first, second = ({"client.id": f"{name}-{unique}"} for name in ("first", "second"))
    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched:
        path = f"/api/v1/groups/{quote(group, safe='')}"

        def answer(path):
            status, text = watched.get(path)
            data = json.loads(text)
            assert problems(openapi_document(), path.partition("?")[0], data, status) == []
            return data

        def rebalances(number):
            known = answer(f"{path}/rebalances")
            return known["rebalances"] if len(known.get("rebalances", ())) >= number else None

        with members(bootstrap, group, topic, **first):
            eventually(lambda: rebalances(1))
            with members(bootstrap, group, topic, **second):
                eventually(lambda: rebalances(2))
            last, before, *_ = eventually(lambda: rebalances(3))
            detail = answer(path)
            assert [each["client_id"] for each in detail["members"]] == [first["client.id"]]
            assert detail["members"][0]["assigned"] == {topic: "0-3"}
            (line,) = answer(f"/api/v1/groups?match=*{unique}&sort=-last")["groups"]
            assert (line["group"], line["generation"], line["members"]) == (group, last["generation"], 1)
            whole = answer(f"{path}/rebalances/{before['id']}")
            assert {each["client_id"] for each in whole["events"][-1]["members"]} == {
                first["client.id"],
                second["client.id"],
            }

            url = f"http://127.0.0.1:{watched.role.port}"
            by_url = run("watch", "--once", unique, "--url", url)
            assert shown in by_url
            by_kafka = run("watch", "--once", unique, "--bootstrap-servers", bootstrap)
            # State; members, partitions, skew, generation and type: between them are the bounds of the last stall.
            rows = [text.splitlines()[1].removeprefix(shown).split() for text in (by_url, by_kafka)]
            columns = [[row[0], *row[-5:]] for row in rows]
            assert columns[0] == columns[1] == ["Stable", "1", "4", "1.00", str(last["generation"]), "classic"]

            topics = {"REBALANCE_AGENT_EVENTS_TOPIC": published}
            reported = run("explain", group, "--url", url)
            assert "from the agent's observations" in reported
            from_topic = run("explain", group, "--bootstrap-servers", bootstrap, **topics)
            assert f"from the topic {published}" in from_topic
            assert reported.splitlines()[1:] == from_topic.splitlines()[1:]
            replayed = run("explain", group, "--bootstrap-servers", bootstrap, REBALANCE_AGENT_EVENTS_TOPIC="")
            assert "from the remaining records of __consumer_offsets" in replayed
            for text in map(_one_line, (reported, replayed)):
                assert f"{second['client.id']} (127.0.0.1) joined." in text
                assert f"{second['client.id']} (127.0.0.1) is gone" in text
                assert f"2 partitions moved: {topic} " in text

            assert "no group 'nobody'" in run("explain", "nobody", "--bootstrap-servers", bootstrap, code=1, **topics)


def test_watch_and_explain_show_that_the_observer_does_not_reach_the_cluster(tmp_path):
    secret = tmp_path / "token"
    secret.write_text("a-token-of-this-test\n")
    token = {"web_token_file": str(secret), "web_token_for_health": True}
    with EmbeddedKafka() as kafka, observing(kafka.bootstrap_servers, wait=False, **token) as watched:
        create_topic(kafka.bootstrap_servers, "orders", 2)
        url = f"http://127.0.0.1:{watched.role.port}"
        flags = ("--url", url, "--token-file", str(secret))
        agent = AgentApi(url, secret.read_text().strip())
        eventually(lambda: not agent.unready())  # rebalances from before are no events
        with members(kafka.bootstrap_servers, "orders", "orders"):
            eventually(lambda: agent.groups().total and agent.rebalances("orders").rebalances)
            assert ended("watch", "--once", *flags)[1] == ""
            kafka.stop_broker(1)
            eventually(lambda: "list: " in agent.unready())
            table, note = ended("watch", "--once", *flags)
            assert table.splitlines()[1].split()[:2] == ["orders", "Stable"]
            assert note.startswith("rebalance-agent watch: the observer is not ready (")
            assert "list: listing groups: " in note
            explained = ended("explain", "orders", *flags)[0].splitlines()
            assert explained[1].startswith("The observer is not ready (")
            kafka.start_broker(1)
            eventually(lambda: not agent.unready())
            assert ended("watch", "--once", *flags)[1] == ""


def _one_line(text):
    return " ".join(text.split())
