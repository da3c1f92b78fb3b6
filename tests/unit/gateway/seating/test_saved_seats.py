"""A gateway that is restarted knows the seats its members had: from a file, and once the coordinator confirms them."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.seating import seats_file
from rebalance_agent.gateway.seating.seats_file import SeatsFile
from rebalance_agent.gateway.seats import seat_list
from rebalance_agent.gateway.seats.saved_seats import SavedSeat
from rebalance_agent.gateway.seats.seat import SeatState
from rebalance_agent.gateway.seats.seat_acts import ClaimLock, ContinueSeat, ForwardSeated, GiveUpSeat, ReleaseLock
from rebalance_agent.gateway.seats.seat_list import LIST_BYTES_MAX, SeatList, decode_seats, encode_seats
from support.gateway.seat_clients import SeatClient, SeatGateway
from support.gateway.seats import CHEAP, STABLE, newcomer, only, profile, seated, seats
from support.seats.frame_steps import REBALANCING, ended, member, run, waiting

ON = "orders=on,seats.hold.seconds=10"


def restored(*, session_ms=45_000, leaves=False):
    """The seats of a gateway that was restarted with one member, m1, and the instance id."""
    before = seats()
    instance_id = seated(before, of=profile(session_ms=session_ms))
    if leaves:
        before.described(STABLE, 0.0)
        before.leave("m1", None, CHEAP, 0.0, 0.0)
    group = seats()
    group.restore(before.saved(0.0), 1.0, 0.0)
    return group, instance_id


@pytest.mark.parametrize("error", [0, REBALANCING])
def test_a_member_has_its_seat_again_once_the_coordinator_accepts_a_request_of_it(error):
    group, instance_id = restored()
    assert (len(group.table), group.idle) == (0, False)
    acts, shown = group.heartbeat_answered("m1", error, 1.0)
    assert acts[:2] == [ContinueSeat(instance_id), ClaimLock(instance_id)]
    assert shown == error
    seat = group.table.of_member("m1")
    assert (seat.instance_id, seat.generation, seat.state, seat.profile) == (
        instance_id,
        5,
        SeatState.OCCUPIED,
        profile(),
    )
    assert group.heartbeat_answered("m1", error, 2.0)[0] == []


def test_a_member_that_is_refused_or_never_heard_of_has_no_seat_and_nobody_waits_for_it():
    group, _ = restored(session_ms=6_000)
    assert group.heartbeat_answered("m1", 25, 1.0) == ([], 25)
    group.described(STABLE, 1.0)
    assert only(group.join(newcomer(2), 1.0, 1.0), ForwardSeated) == []
    group.withdraw(2, 1.0)
    assert group.saved(1.0) != ()  # for one more restart
    assert group.next_due() == 6.0
    group.due(6.0)
    assert (group.idle, group.saved(6.0)) == (True, ())
    assert group.heartbeat_answered("m1", 0, 7.0)[0] == []


def test_a_vacant_seat_is_taken_only_once_the_coordinator_confirms_its_member():
    group, instance_id = restored(leaves=True)
    group.described(STABLE, 0.0)
    group.join(newcomer(2), 0.0, 0.0)
    assert only(group.described(STABLE, 0.2), ClaimLock) == []
    acts = group.kept(instance_id, "m1", 0, 0.4)
    assert acts[:2] == [ContinueSeat(instance_id), ReleaseLock(instance_id)]
    assert ClaimLock(instance_id) in acts
    assert ForwardSeated(2, instance_id, returns=True) in group.lock_answered(instance_id, granted=True, now=0.4)


def test_a_vacant_seat_that_another_has_taken_meanwhile_is_forgotten():
    group, instance_id = restored(leaves=True)
    group.described(STABLE, 0.0)
    group.join(newcomer(2), 0.0, 0.0)
    acts = group.kept(instance_id, "m1", 82, 0.4)
    assert only(acts, ClaimLock) + only(acts, GiveUpSeat) == []
    assert group.table.get(instance_id) is None


def some_seats(number, **fields):
    usual = {"generation": 7, "version": 9, "leads": True, "returned": False, "vacant": False, "kept_seconds": 0.0}
    return tuple(
        SavedSeat(instance_id=f"seat-{n}", member_id=f"m-{n}-\u00fc", profile=profile(), **{**usual, **fields})
        for n in range(number)
    )


def test_a_list_is_read_as_it_was_written():
    groups = {"orders": some_seats(2), 'a "b"\n': some_seats(1, vacant=True, kept_seconds=12.0)}
    assert decode_seats(encode_seats(SeatList(1_700_000_000_000, groups))) == SeatList(1_700_000_000_000, groups)


def test_a_list_has_a_bound_and_leaves_groups_out_beyond_it(monkeypatch):
    monkeypatch.setattr(seat_list, "LIST_BYTES_MAX", 10_000)
    data = encode_seats(SeatList(0, {f"group-{n}": some_seats(5) for n in range(20)}))
    assert 8_000 < len(data) <= 10_000
    assert 1 < len(decode_seats(data).groups) < 20
    monkeypatch.undo()
    with pytest.raises(DecodeError, match="more than"):
        decode_seats(b" " * (LIST_BYTES_MAX + 1))


VALID = json.loads(encode_seats(SeatList(5, {"orders": some_seats(1)})))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        json.dumps({**VALID, "format": 2}).encode(),
        json.dumps({**VALID, "saved_ms": "5"}).encode(),
        json.dumps({**VALID, "groups": {"orders": [{**VALID["groups"]["orders"][0], "member_id": None}]}}).encode(),
        json.dumps({**VALID, "groups": {"orders": [{}]}}).encode(),
        json.dumps({**VALID, "groups": [1]}).encode(),
    ],
)
def test_anything_else_is_no_list(data):
    with pytest.raises(DecodeError):
        decode_seats(data)


async def saving(gateway, path):
    """Save what the gateway has, and go on; as `SeatsFile.run` does at its end."""
    done = asyncio.Event()
    done.set()
    await SeatsFile(str(path), gateway.seats, gateway.clock).run(done)


def next_gateway(gateway, path, rule=ON, **options):
    """Another gateway before the same coordinator, which read the file."""
    after = SeatGateway(rule, beside=gateway, **options)
    SeatsFile(str(path), after.seats, after.clock).restore()
    return after


def moved(client, gateway):
    """The consumer of ``client``, connected by another gateway."""
    again = SeatClient(gateway, client.client_id)
    again.member_id, again.generation = client.member_id, client.generation
    return again


@run
async def test_after_a_restart_a_newcomer_takes_the_seat_of_a_member_that_leaves(tmp_path):
    path = tmp_path / "seats"
    first = SeatGateway(ON)
    old = await member(first)
    await saving(first, path)
    assert path.stat().st_mode & 0o777 == 0o600
    second = next_gateway(first, path)
    old = moved(old, second)
    assert await old.heartbeat() == 0
    assert second.acts.done("restore") == 1
    generation = old.generation
    new, task = await waiting(second)
    assert await old.leave() == 0
    await task
    assert new.generation == generation
    assert second.acts.done("handover") == 1


@run
async def test_without_the_file_the_leave_of_such_a_member_passes(tmp_path):
    first = SeatGateway(ON)
    old = await member(first)
    second = next_gateway(first, tmp_path / "none")
    old = moved(old, second)
    assert await old.heartbeat() == 0
    assert await old.leave() == 0
    assert second.acts.done("keep") == 0
    assert first.coordinator.model.members == {}


@run
async def test_a_vacant_seat_is_kept_on_by_the_next_gateway_and_taken_by_the_successor(tmp_path):
    path, rule = tmp_path / "seats", f"{ON},seats.keep.seconds=60"
    first = SeatGateway(rule)
    old, other = await member(first), SeatClient(first, "other")
    task = asyncio.create_task(other.enter())
    await first.advance(10.5)
    assert await old.heartbeat() == REBALANCING
    await asyncio.gather(old.enter(), task)
    await old.leave()
    await ended(old)
    await saving(first, path)
    second = next_gateway(first, path, rule)
    other = moved(other, second)
    assert await other.heartbeat() == 0
    await second.advance(1)
    assert second.acts.done("restore") == 2
    new = await SeatClient(second, "new").enter()
    assert (new.generation, second.acts.done("handover")) == (other.generation, 1)


STOPPED = f"{ON},seats.keep.seconds=60,seats.keep.stopped=true"


async def pod_stopped(first, path):
    """The only consumer of a pod leaves, and its gateway stops; another pod's consumer is a member, too."""
    beside = SeatGateway(ON, beside=first)
    old, other = await member(first), SeatClient(beside, "other")
    task = asyncio.create_task(other.enter())
    await beside.advance(10.5)
    assert await old.heartbeat() == REBALANCING
    await asyncio.gather(old.enter(), task)
    assert await old.leave() == 0
    await ended(old)
    await first.seats.switch_off()
    await saving(first, path)
    return other


@run
async def test_a_pod_that_comes_back_with_its_volume_takes_its_own_seat(tmp_path):
    path = tmp_path / "seats"
    first = SeatGateway(STOPPED, saves=True)
    other = await pod_stopped(first, path)
    assert first.acts.done("give_up") == 0
    second = next_gateway(first, path, STOPPED, saves=True)
    await second.advance(5)
    new, joining = await waiting(second)
    await second.advance(1)
    assert (await joining).generation == other.generation
    assert await other.heartbeat() == 0, "the group did not rebalance"
    assert (second.acts.done("handover"), new.member_id in first.coordinator.model.members) == (1, True)


@run
@pytest.mark.parametrize(
    ("rule", "saves"),
    [(STOPPED, False), (STOPPED.replace(",seats.keep.stopped=true", ""), True)],
    ids=["no file", "off"],
)
async def test_otherwise_a_gateway_that_stops_gives_its_vacant_seats_up(tmp_path, rule, saves):
    first = SeatGateway(rule, saves=saves)
    await pod_stopped(first, tmp_path / "seats")
    assert first.acts.done("give_up") == 1


@run
async def test_the_file_that_switches_seats_off_gives_them_up_whatever_the_rule_says(tmp_path):
    switch = tmp_path / "switch"
    gateway = SeatGateway(STOPPED, saves=True, switch_file=str(switch))
    one = await member(gateway)
    assert await one.leave() == 0
    await ended(one)
    switch.write_text("off")
    await gateway.advance(6)
    assert gateway.acts.done("give_up") == 1


def test_the_partitions_of_a_seat_are_saved_and_counted_while_it_is_vacant_after_the_restart():
    before = seats()
    seated(before)
    before.table.of_member("m1").partitions = 7
    (saved,) = decode_seats(encode_seats(SeatList(0, {"orders": before.saved(0.0)}))).groups["orders"]
    group = seats()
    group.restore([replace(saved, vacant=True, kept_seconds=9.0)], 0.0, 0.0)
    assert group.table.of_member("m1").partitions == 7
    confirmed = seats()
    confirmed.restore([saved], 0.0, 0.0)
    confirmed.heartbeat_answered("m1", 0, 1.0)
    assert confirmed.table.of_member("m1").partitions == 7


def test_a_list_of_an_earlier_release_has_no_partitions():
    entry = {name: value for name, value in VALID["groups"]["orders"][0].items() if name != "partitions"}
    (one,) = decode_seats(json.dumps({**VALID, "groups": {"orders": [entry]}}).encode()).groups["orders"]
    assert one.partitions == 0


def test_the_entries_of_vacant_seats_change_only_with_the_seats():
    def entries(saved_ms, kept_seconds):
        one = some_seats(1, vacant=True, kept_seconds=kept_seconds)
        return encode_seats(SeatList(saved_ms, {"orders": one})).partition(b"\n")[2]

    assert entries(1_000, 20.2) == entries(6_000, 15.2)
    assert entries(1_000, 20.2) != entries(6_000, 25.2)


@pytest.mark.parametrize("mode", ["observe", "off"])
@run
async def test_seats_are_restored_only_where_the_rule_is_on_still(tmp_path, mode):
    path = tmp_path / "seats"
    first = SeatGateway(ON)
    await member(first)
    await saving(first, path)
    second = next_gateway(first, path, f"orders={mode}")
    assert second.seats.saved() == {}


@run
async def test_while_the_switch_is_off_members_keep_their_restored_seats_and_leave_for_real(tmp_path):
    path, switch = tmp_path / "seats", tmp_path / "switch"
    first = SeatGateway(ON)
    old = await member(first)
    await saving(first, path)
    switch.write_text("off")
    second = next_gateway(first, path, switch_file=str(switch))
    old = moved(old, second)
    assert await old.heartbeat() == 0
    assert second.acts.done("restore") == 1
    assert await old.leave() == 0
    assert first.coordinator.model.members == {}


@run
async def test_a_group_whose_commits_name_no_member_is_not_saved(tmp_path):
    gateway = SeatGateway(ON)
    await member(gateway)
    assert list(gateway.seats.saved()) == ["orders"]
    gateway.seats.refuse_unfenced("orders")
    assert gateway.seats.saved() == {}


@run
async def test_the_file_is_written_when_seats_change_and_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(seats_file, "SAVE_SECONDS", 0.001)
    path, gateway, done = tmp_path / "seats", SeatGateway(ON), asyncio.Event()
    task = asyncio.create_task(SeatsFile(str(path), gateway.seats, gateway.clock).run(done))
    old = await member(gateway)
    while not (path.exists() and decode_seats(path.read_bytes()).groups):  # noqa: ASYNC110 - a file is no event
        await asyncio.sleep(0)
    written = path.stat().st_ino
    gateway.clock.advance(1_000)
    await old.heartbeat()
    await asyncio.sleep(0.01)  # several rounds, in which nothing is written
    assert path.stat().st_ino == written
    assert [each.name for each in tmp_path.iterdir()] == ["seats"]
    await old.leave()
    done.set()
    await task
    assert decode_seats(path.read_bytes()).groups == {}


@run
async def test_a_file_that_cannot_be_used_is_counted_and_the_gateway_goes_on(tmp_path):
    path = tmp_path / "folder" / "seats"
    gateway = SeatGateway(ON)
    await member(gateway)
    await saving(gateway, path)
    assert gateway.acts.counted["restore", "failed"] == 1
    path.parent.mkdir()
    path.write_bytes(b"{")
    after = next_gateway(gateway, path)
    assert after.acts.counted["restore", "failed"] == 1
    path.unlink()
    os.mkfifo(path)
    assert next_gateway(gateway, path).acts.counted["restore", "failed"] == 1
