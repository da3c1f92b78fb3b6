"""The mode, the groups and the switch of one gateway."""

from __future__ import annotations

from rebalance_agent.gateway.seats import GatewaySeats, SeatMode, SeatSettings
from rebalance_agent.gateway.seats.rules.act_reasons import PlainReason
from rebalance_agent.gateway.seats.seat_acts import ForwardJoin
from support.gateway.seats import newcomer, seated


def test_off_tracks_no_group():
    seats = GatewaySeats(SeatSettings(), SeatMode.OFF, "a")
    assert seats.of("g") is None
    assert seats.next_due() is None


def test_groups_are_bounded_and_idle_ones_are_dropped():
    seats = GatewaySeats(SeatSettings(groups_max=1), SeatMode.ON, "a")
    assert seats.of("g") is seats.of("g") is not None
    assert seats.of("h") is None
    seats.forget_idle()
    seated(seats.of("h"))
    seats.forget_idle()
    assert seats.of("g") is None


def test_names_of_seats_are_unique():
    seats = GatewaySeats(SeatSettings(), SeatMode.ON, "a")
    names = {seated(seats.of(group), number, member=f"{group}{number}") for group in "gh" for number in range(3)}
    assert len(names) == 6


def test_the_switch_ends_all_holds_in_every_group():
    seats = GatewaySeats(SeatSettings(), SeatMode.ON, "a")
    for group in "gh":
        seats.of(group).join(newcomer(1), 0.0, 0.0)
    assert seats.next_due() == 1.0
    forwarded = [ForwardJoin(1, PlainReason.OFF)]
    assert seats.switch_off(0.0) == {"g": forwarded, "h": forwarded}
    assert seats.of("new") is None
    assert seats.due(1.0) == {}
