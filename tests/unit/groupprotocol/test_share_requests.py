"""Groups and acknowledgements are read from requests of share consumers, as Kafka's own classes write them."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.requests.share_requests import AcknowledgeType, ShareRequest, read_share_request
from rebalance_agent.groupprotocol.requests.share_responses import SHARE_ACKNOWLEDGE, SHARE_FETCH

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
ROWS = GOLDEN["share_requests"]
KEYS = {"ShareFetch": SHARE_FETCH, "ShareAcknowledge": SHARE_ACKNOWLEDGE}
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"
each_version = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['api']} v{row['version']}")


def frame(row, about):
    """API key, version, correlation id, client id, no tagged fields in the header, and the body."""
    head = KEYS[row["api"]].to_bytes(2, "big") + row["version"].to_bytes(2, "big") + b"\0\0\0\7\0\1c\0"
    return head + base64.b64decode(row[about])


def read(row, about, version=None):
    return read_share_request(KEYS[row["api"]], row["version"] if version is None else version, frame(row, about))


@each_version
def test_one_type_holds_for_a_batch_and_several_for_one_offset_each(row):
    last = AcknowledgeType.RENEW if row["version"] > 1 else AcknowledgeType.ACCEPT
    assert read(row, "acknowledging") == ShareRequest(
        "payments",
        {
            (TOPIC_ID, 3): {
                AcknowledgeType.ACCEPT: 5 + 1,
                AcknowledgeType.GAP: 1,
                AcknowledgeType.RELEASE: 1,
                AcknowledgeType.REJECT: 2,
            },
            (TOPIC_ID, 4): {last: 1},
        },
        frozenset((TOPIC_ID, number) for number in (3, 4, 5)) if row["api"] == "ShareFetch" else frozenset(),
    )


@each_version
def test_a_request_without_acknowledgements_still_names_its_group(row):
    assert read(row, "none") == ShareRequest("payments", {})


@pytest.mark.parametrize("version", [0, 3, -1])
@pytest.mark.parametrize("api", KEYS)
def test_an_unknown_version_is_not_read(api, version):
    assert read(next(row for row in ROWS if row["api"] == api), "acknowledging", version) is None


@given(row=st.sampled_from(ROWS), about=st.sampled_from(["none", "acknowledging"]), data=st.data())
def test_a_truncated_or_extended_request_is_refused(row, about, data):
    whole = frame(row, about)
    for broken in (whole[: data.draw(st.integers(0, len(whole) - 1))], whole + b"\0"):
        with pytest.raises(DecodeError):
            read_share_request(KEYS[row["api"]], row["version"], broken)


@given(row=st.sampled_from(ROWS), data=st.data())
def test_mutated_bytes_raise_only_a_decode_error_and_no_number_is_negative(row, data):
    damaged = bytearray(frame(row, "acknowledging"))
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(8, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        request = read_share_request(KEYS[row["api"]], row["version"], bytes(damaged))
        assert all(number > 0 for numbers in request.acknowledged.values() for number in numbers.values())
