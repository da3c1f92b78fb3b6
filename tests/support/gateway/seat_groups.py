"""Groups of equal members behind one gateway with seats, and their restarts."""

from __future__ import annotations

from rebalance_agent.clock import SystemClock
from rebalance_agent.gateway.seats.group_facts import ROSTER_SECONDS_MAX
from support.gateway.gateway_members import read_everything, shares
from support.gateway.running import gateway
from support.members.threads import Load
from support.observer.observing import eventually

__all__ = [
    "MEMBERS",
    "PARTITIONS",
    "Group",
    "SpreadGroup",
    "begin_period",
    "check_killed",
    "check_restarts",
    "check_scale_up",
    "check_successor_of_killed",
    "check_surge",
    "roll_with_surge",
]

PARTITIONS, MEMBERS = 12, 3


class Group:
    """A group of equal members behind one gateway."""

    def __init__(self, joined, through, topic, kind, own):
        self.joined, self.through, self.topic, self.kind, self.own = joined, through, topic, kind, own
        self.name, self.members, self.everybody = f"group-of-{topic}", [], []

    def start(self, **properties):
        name = f"member-{len(self.everybody)}"
        self.everybody.append(
            self.joined(self.kind, self.through.bootstrap, self.name, self.topic, name, self.own, **properties)
        )
        return self.everybody[-1]

    def fill(self, number=MEMBERS):
        for count in range(1, number + 1):
            self.members.append(self.start())
            eventually(
                lambda count=count: self.whole() and all(shares(*self.members[:count])), waiting_for=self.state()
            )

    def fill_at_once(self, number):
        self.members += [self.start() for _ in range(number)]
        eventually(self.whole)

    def whole(self):
        return sum(shares(*self.members)) == PARTITIONS and all(shares(*self.members))

    def generation(self):
        return self.through.generation(self.name)

    def state(self):
        return self.through.acts.counted, self.through.events


class SpreadGroup(Group):
    """A group whose members are behind several gateways in turn.

    ``places``: the number of the gateway of each of ``members``.
    """

    def __init__(self, joined, gateways, topic, kind, own):
        super().__init__(joined, gateways[0], topic, kind, own)
        self.gateways, self.places = gateways, []

    def start(self, **properties):
        return self.start_at(len(self.everybody) % len(self.gateways), **properties)

    def start_at(self, place, **properties):
        self.through = self.gateways[place]
        self.places.append(place)
        return super().start(**properties)

    def next_place(self):
        """The number of the gateway for the oldest member's successor: the one after that member's."""
        return (self.places[0] + 1) % len(self.gateways)

    def end_oldest(self):
        self.places.pop(0)
        self.members.pop(0).close()

    def generation(self):
        return max(each.generation(self.name) for each in self.gateways)

    def done(self, act):
        return sum(each.acts.done(act) for each in self.gateways)

    def state(self):
        return [each.acts.counted for each in self.gateways]


def roll_with_surge(group):
    """Replace each member: the new one is started first, and the old one ends when the new one waits or has joined."""
    for _ in range(MEMBERS):
        before = group.through.acts.done("hold"), group.generation()
        new = group.start()
        eventually(lambda b=before, n=new: group.through.acts.done("hold") > b[0] or n.owned, waiting_for=group.state())
        old = group.members.pop(0)
        old.close()
        group.members.append(new)
        eventually(group.whole, waiting_for=group.state())


def check_right(group):
    """Each member was replaced, and the gateway confirms its acts: each handover spared a rebalance."""
    acts = group.through.acts
    eventually(lambda: acts.counted["handover", "right"] == MEMBERS, waiting_for=group.state())
    assert acts.counted["keep", "right"] == MEMBERS
    assert not acts.counted.keys() & {(act, "wrong") for act in ("handover", "keep")}


def check_surge(kafka, topic, joined, kind, own, group_kind=Group):
    """A rolling restart with surge causes no rebalance."""
    with (
        gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=10") as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = group_kind(joined, through, topic, kind, own)
        group.fill()
        before = group.generation()
        roll_with_surge(group)
        assert group.generation() == before, group.state()
        check_right(group)
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
    assert through.acts.done("handover") == MEMBERS
    assert through.acts.rebalances_spared == {"on": MEMBERS}


def begin_period(period_s):
    """Wait until a multiple of the admission period has just passed."""
    eventually(lambda: SystemClock().now_ms() / 1000 % period_s < period_s / 10)


def check_scale_up(kafka, topic, joined, kind, own, *, number, period_s):
    """As many newcomers as a group has members, which start within one admission period, cause one rebalance.

    A cooperative rebalance has two generations. Only the gateway shows that a JoinGroup is held: its client just waits.
    """
    with (
        gateway(
            kafka.bootstrap_servers,
            seats=".*=on,seats.hold.seconds=0",
            seat_options={"admission_seconds": period_s},
        ) as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = Group(joined, through, topic, kind, own)
        group.fill_at_once(number)
        forgotten = SystemClock().monotonic() + ROSTER_SECONDS_MAX  # until then the group counts as empty
        eventually(lambda: SystemClock().monotonic() > forgotten)
        begin_period(period_s)
        before, held = group.generation(), through.acts.done("hold")
        for count in range(1, number + 1):
            group.members.append(group.start())
            eventually(lambda count=count: through.acts.done("hold") == held + count, waiting_for=group.state)
        eventually(group.whole, waiting_for=group.state)
        assert group.generation() == before + (2 if own == "cooperative-sticky" else 1), group.state()
        eventually(lambda: through.acts.counted["admit", "right"] == number, waiting_for=group.state)
        assert not through.acts.counted["admit", "wrong"]
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()


def check_restarts(kafka, topic, joined, kind, own, group_kind=Group):
    """Members that restart within the time of their rule cause no rebalance."""
    with (
        gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=1,seats.keep.seconds=60") as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = group_kind(joined, through, topic, kind, own)
        group.fill()
        before = group.generation()
        for _ in range(MEMBERS):
            group.members.pop(0).close()
            group.members.append(group.start())
            eventually(group.whole, waiting_for=group.state())
        assert group.generation() == before, group.state()
        check_right(group)
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
    assert through.acts.done("handover") == MEMBERS
    assert through.acts.partition_seconds["on"] > 0


def check_successor_of_killed(kafka, topic, joined, kind, own, group_kind=Group):
    """The successor of a killed process takes its seat, and the group does not rebalance."""
    with (
        gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=20") as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = group_kind(joined, through, topic, kind, own)
        group.fill_at_once(MEMBERS)
        before, held = group.generation(), through.acts.done("hold")
        successor = group.start()
        eventually(lambda: through.acts.done("hold") > held, waiting_for=group.state)
        group.members.pop(0).kill()
        group.members.append(successor)
        eventually(group.whole, waiting_for=group.state())
        assert group.generation() == before, group.state()
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
    assert through.acts.done("handover") == 1


def check_killed(kafka, topic, joined, kind, own, group_kind=Group, **properties):
    """The seat of a killed process without a successor is given up before its session ends."""
    with (
        gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=5") as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = group_kind(joined, through, topic, kind, own)
        for _ in range(2):
            group.members.append(group.start(**properties))
        eventually(group.whole, waiting_for=group.state())
        group.members.pop(0).kill()
        eventually(group.whole, waiting_for=group.state())
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
    assert through.acts.done("give_up") == 1
