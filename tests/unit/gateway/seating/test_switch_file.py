"""The file that switches the seats of all groups off."""

from __future__ import annotations

import asyncio
import os

import pytest
from kafka.protocol.consumer.group import JoinGroupRequest, LeaveGroupRequest

from rebalance_agent.gateway.seating.switch_file import Switch, read_switch
from support.gateway.seat_clients import SeatClient, SeatGateway, settle
from support.seats.frame_steps import member, run, waiting

ON, OFF = "orders=on,seats.keep.seconds=60", "off\n"


@pytest.mark.parametrize("said", ["on", "ON\n", " on "])
def test_a_file_with_on_switches_nothing_off(tmp_path, said):
    (tmp_path / "switch").write_text(said)
    assert read_switch(f"{tmp_path}/switch") == Switch("")


@pytest.mark.parametrize("said", ["off", "Off\n", " off\t"])
def test_a_file_with_off_switches_off(tmp_path, said):
    (tmp_path / "switch").write_text(said)
    assert read_switch(f"{tmp_path}/switch") == Switch(f"{tmp_path}/switch contains off")


@pytest.mark.parametrize("said", [b"", b"of", b"true", b"\xff\xfe", b"no" * 1_000_000])
def test_unknown_content_switches_off(tmp_path, said):
    (tmp_path / "switch").write_bytes(said)
    assert read_switch(f"{tmp_path}/switch") == Switch(
        f"{tmp_path}/switch contains neither on nor off", understood=False
    )


def test_a_missing_file_does_not_switch_off_and_an_unreadable_one_does(tmp_path):
    assert read_switch(f"{tmp_path}/switch") == Switch("")
    assert read_switch(f"{tmp_path}/none/switch") == Switch("")
    os.mkfifo(tmp_path / "pipe")
    assert "cannot be read: it is not a regular file" in read_switch(f"{tmp_path}/pipe").reason
    (tmp_path / "file").touch()
    for path in (f"{tmp_path}", f"{tmp_path}/file/switch", f"{tmp_path}/{'x' * 300}"):
        assert f"{path} cannot be read: " in read_switch(path).reason
        assert not read_switch(path).understood


@run
async def test_all_groups_stop_while_the_file_has_off(tmp_path):
    switch = tmp_path / "switch"
    gateway = SeatGateway(ON, switch_file=str(switch))
    old = await member(gateway)
    await old.leave()
    await gateway.advance(1)
    assert (gateway.acts.vacant, gateway.acts.off) == (1, False)
    switch.write_text(OFF)
    await gateway.advance(5)
    assert (gateway.acts.vacant, gateway.acts.off) == (0, True)
    assert len(gateway.coordinator.asked(LeaveGroupRequest)) == 1
    one = await member(gateway, "later")
    assert one.sent[0][0] == one.sent[0][1], "it gets no seat"
    await one.leave()
    assert len(gateway.coordinator.asked(LeaveGroupRequest)) == 2


@run
async def test_a_waiting_newcomer_joins_unchanged_when_the_file_has_off(tmp_path):
    switch = tmp_path / "switch"
    gateway = SeatGateway("orders=on", switch_file=str(switch))
    old = await member(gateway)
    new, entering = await waiting(gateway)
    switch.write_text(OFF)
    await gateway.advance(5)
    await asyncio.gather(entering, old.enter())
    assert all(frame == passed for frame, passed in new.sent)


@run
async def test_members_keep_their_seats_while_switched_off_and_have_successors_afterwards(tmp_path):
    switch = tmp_path / "switch"
    gateway = SeatGateway(ON, switch_file=str(switch))
    old = await member(gateway)
    switch.write_text(OFF)
    await gateway.advance(20)
    assert await old.heartbeat() == 0
    switch.unlink()
    await gateway.advance(5)
    assert not gateway.acts.off
    assert await old.leave() == 0
    await gateway.advance(1)
    new = await SeatClient(gateway, "new").enter()
    assert new.generation == old.generation
    assert gateway.acts.done("handover") == 1


@run
async def test_locks_are_used_again_after_the_file_is_gone(tmp_path):
    switch = tmp_path / "switch"
    shared = f"{ON},seats.between.gateways=true"
    first = SeatGateway(shared, switch_file=str(switch))
    second = SeatGateway(shared, beside=first)
    old = await SeatClient(first, "old").enter()
    for said in (OFF, "on"):
        switch.write_text(said)
        await second.advance(6)
        assert await old.heartbeat() == 0
    assert await old.leave() == 0
    await second.advance(1)
    new = await SeatClient(second, "new").enter()
    assert new.generation == old.generation


@run
async def test_a_group_without_seats_for_another_reason_stays_without(tmp_path):
    switch = tmp_path / "switch"
    gateway = SeatGateway(ON, switch_file=str(switch))
    old = await member(gateway)
    gateway.seats.refuse_unfenced("orders")
    for said in (OFF, "on"):
        switch.write_text(said)
        await gateway.advance(5)
        assert await old.heartbeat() == 0
    await old.leave()
    assert gateway.acts.done("keep") == 0


@run
async def test_a_gateway_started_while_switched_off_gives_no_seat_and_observes(tmp_path):
    switch = tmp_path / "switch"
    switch.write_text(OFF)
    gateway = SeatGateway(ON, switch_file=str(switch))
    one = await SeatClient(gateway, "first").enter()
    assert all(frame == passed for frame, passed in one.sent)
    assert [each.group_instance_id for each in gateway.coordinator.asked(JoinGroupRequest)] == [None, None]
    observing = SeatGateway("orders=observe", switch_file=str(switch))
    await SeatClient(observing, "first").enter()
    assert observing.acts.counted["seat", "predicted"] == 1


@run
async def test_the_file_is_read_at_an_interval(tmp_path):
    without, with_one = SeatGateway(), SeatGateway(switch_file=str(tmp_path / "switch"))
    assert (without.seats._pause(), with_one.seats._pause()) == (60.0, 5.0)
    await settle()
