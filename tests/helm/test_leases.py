"""Locks of seats as Lease objects of a real API server, with a pod's service account and the role of the page."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.seating.leases.api_server import ApiServer
from rebalance_agent.gateway.seating.leases.lease_requests import LeaseRequests
from rebalance_agent.gateway.seats.locks import LockBeat
from rebalance_agent.gateway.seats.locks.leases import LEASE_SECONDS
from rebalance_agent.gateway.seats.locks.lock_acts import CLAIM, RELEASE
from rebalance_agent.gateway.seats.locks.lock_frames import LockHolder
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX

PAGE = Path(__file__).parents[2] / "docs/reference/seats.md"
TAKEN, UNKNOWN, FENCED, FORBIDDEN = 111, 25, 82, 30
SEAT = f"{SEAT_PREFIX}964ca5da53eda017-1"


def role():
    """The role that the page shows, as kubectl reads it."""
    (text,) = re.findall(r"```yaml\n(apiVersion: rbac.*?)```", PAGE.read_text(), re.DOTALL)
    return text


@pytest.fixture(scope="module")
def where(api_server):
    api_server.add_namespace("leases")
    return "leases"


@pytest.fixture
def account(api_server, where, tmp_path):
    """Returns the API server as a pod sees it, with the files that Kubernetes mounts for its service account."""
    opened = []

    def mounted():
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        (folder / "token").write_text(api_server.kubectl("create", "token", "default", "--namespace", where))
        (folder / "namespace").write_text(where)
        (folder / "ca.crt").write_bytes(api_server.access.authority.certificate.chain.read_bytes())
        opened.append(ApiServer(api_server.host, api_server.port, folder))
        return opened[-1]

    yield mounted
    for each in opened:
        each.close()


def beat(requests, member_id, epoch, note=None):
    return asyncio.run(requests.beat(None, LockBeat(SEAT, member_id, epoch, 0.0, note))).error


def test_locks_need_the_pages_role_and_one_gateway_at_a_time_has_one(api_server, where, account):
    api, clock = account(), FakeClock()
    one, other = (LeaseRequests("orders/europe", api, clock) for _ in range(2))
    assert beat(one, "a", CLAIM) == FORBIDDEN
    assert asyncio.run(one.describe(None)) is None
    api_server.kubectl("apply", "--namespace", where, "--filename", "-", stdin=role())
    note = "1 0123456789abcdef0123456789abcdef 1 member \u00e9"
    assert beat(one, "a", CLAIM, note) == 0
    assert beat(other, "b", CLAIM) == TAKEN
    assert beat(one, "a", 1) == 0
    assert asyncio.run(other.describe(None)) == (LockHolder(SEAT, "a", False, note),)
    assert beat(other, "b", RELEASE) == FENCED
    assert beat(one, "a", RELEASE) == 0
    assert asyncio.run(other.describe(None)) == (LockHolder(SEAT, "a", True, note),)
    assert beat(other, "b", CLAIM) == 0
    assert beat(one, "a", 1) == UNKNOWN
    (lease,) = json.loads(api_server.kubectl("get", "leases", "--namespace", where, "--output=json"))["items"]
    assert lease["spec"]["holderIdentity"] == "b"
    assert len(asyncio.run(other.describe(None))) == 1
    clock.advance(1_000 * LEASE_SECONDS)
    assert asyncio.run(other.describe(None)) == ()
    assert api_server.kubectl("get", "leases", "--namespace", where, "--output=name") == ""


def test_of_many_claims_at_once_one_is_granted(api_server, where, account):
    api_server.kubectl("apply", "--namespace", where, "--filename", "-", stdin=role())
    gateways = [LeaseRequests("orders", account(), FakeClock()) for _ in range(8)]

    async def claims():
        beats = (LockBeat(SEAT, f"m{number}", CLAIM, 0.0) for number in range(8))
        return await asyncio.gather(*(one.beat(None, each) for one, each in zip(gateways, beats, strict=True)))

    assert sorted(answer.error for answer in asyncio.run(claims())) == [0, *[TAKEN] * 7]


def test_a_connection_that_was_closed_meanwhile_is_opened_again_and_no_api_server_is_no_answer(account):
    api = account()
    api.request("GET", "leases?limit=1")
    api._connection.sock.close()
    assert api.request("GET", "leases?limit=1")[0] in (200, 403)
    api._port = 1
    api._disconnect()
    with pytest.raises(ConnectionError):
        api.request("GET", "leases?limit=1")
