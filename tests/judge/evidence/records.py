"""Decodes records of `__consumer_offsets` to small facts: the type of a group, its members and their partitions.

Each fact is a dictionary with ``kind`` and ``group``. Kinds: ``generation`` (classic group), ``epoch``, ``member``,
``target epoch``, ``target``, ``current`` (groups whose coordinator assigns), ``commit``. A tombstone has ``gone``.
Partitions are pairs of topic (a name, or an id in KIP-848 groups, or ``task:SUBTOPOLOGY``) and number.
"""

from __future__ import annotations

from judge.evidence.wire import Bytes

EPOCH = {3: "consumer", 11: "share", 17: "streams"}
MEMBER = {5: "consumer", 19: "streams"}
TARGET_EPOCH = {6: "consumer", 20: "streams"}
TARGET = {7: "consumer", 21: "streams"}
CURRENT = {8: "consumer", 22: "streams"}
STABLE = {"consumer": 0, "streams": 1}


def of_groups(rows, groups):
    """Yield the rows; those of other groups have no key and no value.

    The records of a hostile group may have gigabytes, and ten times as many when they are decoded.
    """
    for row in rows:
        if row["key"] is not None and _group(row["key"]) not in groups:
            row["key"] = row["value"] = None
        yield row


def _group(key):
    """Return the group of a key: every version begins with it."""
    key = Bytes(key)
    key.integer(2)
    return key.text()


def decode(key, value):
    """Return the fact of a record; None if the judge does not need it."""
    key = Bytes(key)
    version = key.integer(2)
    if version in (0, 1):
        fact = {"kind": "commit", "group": key.text(), "topic": key.text(), "partition": key.integer(4)}
        return fact if value is not None else {**fact, "gone": True}
    if version == 2:
        fact = {"kind": "generation", "group": key.text()}
        return {**fact, "gone": True} if value is None else {**fact, **_generation(value)}
    readers = (
        (EPOCH, "epoch", lambda data, _: {"epoch": data.integer(4)}),
        (MEMBER, "member", _member),
        (TARGET_EPOCH, "target epoch", lambda data, _: {"epoch": data.integer(4)}),
        (TARGET, "target", lambda data, kind: {"partitions": _partitions(data, kind)}),
        (CURRENT, "current", _current),
    )
    for versions, kind, read in readers:
        if version in versions:
            fact = {"kind": kind, "group": key.text(), "type": versions[version]}
            if kind in ("member", "target", "current"):
                fact["member"] = key.text()
            if value is None:
                return {**fact, "gone": True}
            data = Bytes(value, flexible=True)
            data.integer(2)  # version of the value
            return {**fact, **read(data, versions[version])}
    return None


def _generation(value):
    """Decode GroupMetadataValue: versions 0 to 3, and 4, which is flexible."""
    data = Bytes(value)
    version = data.integer(2)
    data.flexible = version >= 4
    protocol_type, generation = data.text(), data.integer(4)
    assignor, _leader = data.text(), data.text()
    joined_ms = data.integer(8) if version >= 2 else None

    def member():
        found = {"member": data.text()}
        found["instance"] = data.text() if version >= 3 else None
        found["client"], _host = data.text(), data.text()
        if version >= 1:
            data.integer(4)
        found["session_ms"] = data.integer(4)
        found["topics"] = _subscription(data.blob())
        found["partitions"] = _assignment(data.blob())
        data.tags()
        return found

    return {
        "protocol_type": protocol_type,
        "generation": generation,
        "assignor": assignor,
        "joined_ms": joined_ms,
        "members": data.array(member),
    }


def _subscription(blob):
    """Return the topics of a ConsumerProtocolSubscription."""
    if not blob:
        return []
    data = Bytes(blob)
    data.integer(2)
    return data.array(data.text)


def _assignment(blob):
    """Return the partitions of a ConsumerProtocolAssignment."""
    if not blob:
        return []
    data = Bytes(blob)
    data.integer(2)
    rows = data.array(lambda: (data.text(), data.array(lambda: data.integer(4))))
    return [(topic, number) for topic, numbers in rows for number in numbers]


def _member(data, kind):
    instance, _rack, client, _host = data.text(), data.text(), data.text(), data.text()
    topics = data.array(data.text) if kind == "consumer" else []
    return {"instance": instance, "client": client, "topics": topics}


def _partitions(data, kind):
    def row():
        topic = data.uuid() if kind == "consumer" else f"task:{data.text()}"
        numbers = data.array(lambda: data.integer(4))
        data.tags()
        return topic, numbers

    return [(topic, number) for topic, numbers in data.array(row) for number in numbers]


def _current(data, kind):
    epoch, previous, state = data.integer(4), data.integer(4), data.integer(1)
    found = {"epoch": epoch, "previous": previous, "stable": state == STABLE[kind]}
    found["partitions"] = _partitions(data, kind)
    if kind == "streams":
        for _ in range(2):  # standby and warm-up tasks
            _partitions(data, kind)
    found["revoking"] = _partitions(data, kind)
    return found
