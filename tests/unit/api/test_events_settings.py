import pytest

from rebalance_agent.api.events_settings import EventsSettings
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.bearer import Bearer

TOKEN = "t" * 16


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_token(host):
    assert EventsSettings(host=host).bearer is None


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org"])
def test_an_address_other_than_loopback_requires_a_token(host):
    with pytest.raises(InvalidInputError, match=r"^token: is required"):
        EventsSettings(host=host)
    assert EventsSettings(host=host, bearer=Bearer(TOKEN)).host == host


def test_clients_with_certificates_need_no_token():
    assert EventsSettings(host="0.0.0.0", mutual_tls=True).bearer is None


def test_the_token_is_never_printed():
    assert TOKEN not in repr(EventsSettings(bearer=Bearer(TOKEN)))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rate": 0}, "rate"),
        ({"lines_max": 0}, "lines_max"),
        ({"body_bytes_max": -1}, "body_bytes_max"),
        ({"values_rate": 0}, "values_rate"),
        ({"values_burst": 0}, "values_burst"),
        ({"burst": 9, "lines_max": 10}, "burst"),
    ],
)
def test_bounds_that_admit_nothing_are_refused(changes, field):
    with pytest.raises(InvalidInputError, match=rf"^{field}: "):
        EventsSettings(**changes)
