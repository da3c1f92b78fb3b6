"""The node's name server: addresses of services, and a clear negative answer for other names."""

import socket
import struct

import pytest

from support.cluster.dns import answer

TYPE_A, TYPE_AAAA, CLASS_IN = 1, 28, 1
SERVICE = "Observer.monitoring.svc.cluster.local"


def question(name, kind=TYPE_A):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 77, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, CLASS_IN)


def asked(query):
    """Id, name error and number of answers in the reply's header; and the reply."""
    reply = answer(query, lambda name, namespace: {("observer", "monitoring"): "10.96.0.7"}.get((name, namespace)))
    number, flags, questions, answers, *_ = struct.unpack_from("!6H", reply)
    assert flags & 0x8000
    assert questions == 1
    assert reply[12 : len(query)] == query[12:]
    return number, flags & 0xF, answers, reply


def test_a_service_has_its_address():
    number, error, answers, reply = asked(question(SERVICE))
    assert (number, error, answers) == (77, 0, 1)
    assert socket.inet_ntoa(reply[-4:]) == "10.96.0.7"


def test_a_service_has_no_record_of_another_type():
    assert asked(question(SERVICE, TYPE_AAAA))[:3] == (77, 0, 0)


@pytest.mark.parametrize("name", ["other.monitoring.svc.cluster.local", "observer.monitoring", "example.com"])
def test_any_other_name_does_not_exist(name):
    assert asked(question(name))[:3] == (77, 3, 0)


@pytest.mark.parametrize("length", range(len(question(SERVICE))))
def test_a_truncated_query_is_ignored(length):
    assert answer(question(SERVICE)[:length], lambda _name, _namespace: "10.96.0.7") is None
