"""Kafka's own Java classes in this process, and our tables' values in their JSON form.

The classes are those of the newest version that can be embedded, which reads every older format.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import jpype

from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct
from rebalance_agent.testing.kafka.java import java_runtime
from rebalance_agent.testing.kafka.kafka_versions import VERSIONS, kafka_version

__all__ = ["KafkasMessage", "KafkasSerde", "camel_case", "java_buffer", "kafka_form", "start_java", "struct_form"]


CALL_IT_GROUP = {"OffsetCommitKey", "GroupMetadataKey"}
"""Keys in which Kafka names the group ``group``; in all others it is ``groupId``."""


def start_java() -> None:
    """Start Java with the newest Kafka's class path, once: a process cannot start Java again."""
    if not jpype.isJVMStarted():
        runtime = java_runtime(kafka_version(VERSIONS[0]))
        library = runtime.java.parents[1] / "lib" / "server" / "libjvm.so"
        jpype.startJVM(str(library), "-Xmx256m", "-Xlog:disable", classpath=[str(jar) for jar in runtime.jars])


class KafkasMessage:
    """One of Kafka's generated message classes with its JSON converter: bytes to JSON and back."""

    def __init__(self, name: str) -> None:
        start_java()
        of_clients = name.startswith("ConsumerProtocol") or name.endswith(("RequestData", "ResponseData"))
        package = "common.message" if of_clients else "coordinator.group.generated"
        self._class = jpype.JClass(f"org.apache.kafka.{package}.{name}")
        self._converter = jpype.JClass(f"org.apache.kafka.{package}.{name}JsonConverter")
        self._mapper = jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")()
        self._util = jpype.JClass("org.apache.kafka.common.protocol.MessageUtil")

    def encode(self, version: int, fields: dict[str, Any]) -> bytes:
        """Kafka's bytes of ``fields`` (Kafka's names, bytes as base64), with the version in the first two bytes."""
        message = self._converter.read(self._mapper.readTree(json.dumps(fields)), version)
        return bytes(self._util.toVersionPrefixedBytes(version, message))

    def decode(self, data: bytes) -> dict[str, Any]:
        """Decode bytes with a version prefix to Kafka's JSON."""
        buffer = java_buffer(data)
        version = buffer.getShort()
        accessor = jpype.JClass("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)
        return json.loads(str(self._converter.write(self._class(accessor, version), version).toString()))


class KafkasSerde:
    """The group coordinator's own reader of its topic, ``GroupCoordinatorRecordSerde``."""

    def __init__(self) -> None:
        start_java()
        self._serde = jpype.JClass("org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde")()
        self._converters = jpype.JClass("org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters")
        unknown = "org.apache.kafka.coordinator.common.runtime.Deserializer$UnknownRecordVersionException"
        self._unknown = jpype.JClass(unknown)

    def decode(self, key: bytes, value: bytes | None) -> tuple[Any, int | None, Any] | None:
        """The key, the value's version and the value as Kafka's JSON; None if Kafka does not support the version.

        For a tombstone, version and value are None.
        """
        try:
            record = self._serde.deserialize(java_buffer(key), None if value is None else java_buffer(value))
        except self._unknown:
            return None
        key_fields = json.loads(str(self._converters.writeRecordKeyAsJson(record.key()).toString()))
        if record.value() is None:
            return key_fields, None, None
        version = record.value().version()
        fields = self._converters.writeRecordValueAsJson(record.value().message(), version)
        return key_fields, int(version), json.loads(str(fields.toString()))


def java_buffer(data: bytes) -> Any:
    """A ``ByteBuffer`` of ``data``."""
    return jpype.JClass("java.nio.ByteBuffer").wrap(jpype.JArray(jpype.JByte)(data))


def camel_case(name: str) -> str:
    """``member_id`` as ``memberId``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def kafka_form(message: Message, version: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Decoded fields as in Kafka's JSON: its names, bytes as base64, no tagged fields with default values."""
    form = struct_form(message.fields, version, fields)
    if message.name.endswith("Key") and message.name not in CALL_IT_GROUP:
        form["groupId"] = form.pop("group")
    return form


def struct_form(table: tuple[Field, ...], version: int, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that ``version`` has, as in Kafka's JSON; see `kafka_form`."""
    return {
        camel_case(field.name): _value(field.type, version, fields[field.name])
        for field in table
        if field.since <= version <= field.until and not _left_out(field, fields[field.name])
    }


def _left_out(field: Field, value: Any) -> bool:
    return field.tag is not None and (value == field.default or value == [] == list(field.default or "-"))


def _value(type_: Any, version: int, value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(type_, Array) and value is not None:
        return [_value(type_.of, version, item) for item in value]
    if isinstance(type_, Struct) and value is not None:
        return struct_form(type_.fields, version, value)
    return value
