"""Writes ``decode_input.ndjson`` and ``decode_output.ndjson``; read the difference before you commit it.

Run from the checkout: ``PYTHONPATH=agent python tests/golden/make_decode_output.py``.
"""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path

from rebalance_agent.cli import main as cli
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, OFFSET_COMMIT

FOLDER = Path(__file__).parent
TIMESTAMP = 1_700_000_000_456


def line(key: bytes, value: bytes | None) -> str:
    """One line of input."""
    text = None if value is None else base64.b64encode(value).decode()
    return json.dumps({"key": base64.b64encode(key).decode(), "value": text, "timestamp": TIMESTAMP})


def lines() -> list[str]:
    """Kafka's own records, then malformed ones."""
    golden = json.loads((FOLDER / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
    rows = [json.dumps({"key": row["key"], "value": row["value"], "timestamp": TIMESTAMP}) for row in golden["records"]]
    offset_key = OFFSET_COMMIT.key.encode(1, {"group": "orders", "topic": "clicks", "partition": 7})
    group_key = GROUP_METADATA.key.encode(2, {"group": "orders"})
    offset = OFFSET_COMMIT.value.encode(4, {"offset": 1, "metadata": "", "commit_timestamp": 2})
    return [
        *rows,
        line(offset_key, None),
        line(group_key, None),
        line(offset_key, offset[:-1] + b"\x02\x07\x01x\x09\x00"),
        line(group_key, (5).to_bytes(2, "big") + b"from the future"),
        line((99).to_bytes(2, "big") + b"from the future", b"\0\0"),
        line(group_key, b"\0\x03\0\x08consumer\0\0\0\7\xff\xff\xff\xff\0\0\0\0\0\0\0\0\x7f\xff\xff\xff"),
        line(b"\0\2\0\x06ord", b"\0\0"),
        line(b"", b""),
        "not json",
        '"a text"',
        '{"key": "AAIAAWc=", "timestamp": 1}',
        '{"key": "AAIAAWc", "value": null, "timestamp": 1}',
        '{"key": "AAIAAWc=", "value": null, "timestamp": "yesterday"}',
        '{"key": "AAIAAWc=", "value": null}',
    ]


def main() -> None:
    """Write both files."""
    source = FOLDER / "decode_input.ndjson"
    source.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    with (FOLDER / "decode_output.ndjson").open("w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        cli.main(["decode", str(source)])


if __name__ == "__main__":
    main()
