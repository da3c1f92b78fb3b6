"""Explains in words what the gateway would rewrite for a group, without changing anything."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rebalance_agent.assignors import find_strategy
from rebalance_agent.gateway.group_rules import Rule, Rules
from rebalance_agent.gateway.groups.offered_protocols import COMMON_ASSIGNORS, COOPERATIVE_STICKY, mismatch
from rebalance_agent.gateway.past.past_admissions import PastAdmissions
from rebalance_agent.gateway.past.past_seats import PastSeats
from rebalance_agent.gateway.seat_rules import TYPES_WITH_SEATS, Between, SeatRule, SeatRules
from rebalance_agent.gateway.seats.locks.lock_frames import helper_group
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_KEPT_SECONDS, EPOCH_PATIENCE_SECONDS
from rebalance_agent.model.group import GroupState, GroupType, RebalanceProtocol
from rebalance_agent.model.member_changes import member_name
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.ui.words import moment_to_second, partition_seconds, plural

__all__ = ["MEMBERS_SHOWN_MAX", "explain", "hidden_assignor", "past_text", "rewrite_obstacle", "seat_seconds"]

MEMBERS_SHOWN_MAX = 20
"""Maximum number of members to list; the text gives only the number of further members."""

_INDENT, _WIDTH = 12, 100

_HOW = {
    RebalanceProtocol.EAGER: "eager, for clients that revoke everything before they join (range, roundrobin, sticky)",
    RebalanceProtocol.COOPERATIVE: "cooperative, for clients that keep their partitions (only cooperative-sticky)",
}


_IF_CLASSIC = "and used Java, librdkafka or kafka-python"
_IF_EPOCHS = (
    "and used Java or librdkafka, the consumers that left had ended, and their successors had the same subscription "
    "(events contain the topics that match a pattern, but not the pattern)"
)

_SEATS = {
    SeatMode.ON: "The gateway holds a consumer that joins (a newcomer) until a consumer with the same configuration "
    "leaves. The newcomer then takes over the seat (the membership) of that consumer: the group does not rebalance.",
    SeatMode.OBSERVE: "Every frame is forwarded unchanged. "
    "rebalance_agent_gateway_acts_total counts what mode 'on' would do, and "
    "rebalance_agent_gateway_seats_rebalances_spared_total the rebalances that it would avoid.",
}


def explain(
    rules: Rules,
    group: str,
    now: DescribedGroup | None,
    unknown: str = "",
    seats: SeatRules | None = None,
    past: str = "",
    *,
    admission_seconds: float = 0.0,
    similar: str = "",
) -> str:
    """Return the text for ``group``: the result of its rule in the group's state (``now``), the rule, and its effect.

    The effect is left out if the state prevents it.
    ``unknown``: why the group's state is not known. ``seats``: the rules for seats; ``past``: the past rebalances that
    the matching rule for seats would have avoided (`past_text`). ``admission_seconds``: as in `SeatSettings`.
    ``similar``: for a group that does not exist, the end of a sentence that names a similar group.
    """
    rule, seat_rule = rules.of(group), seats.of(group) if seats else None
    lines = [f"Group {_printable(group)}", ""]
    if rule is None:
        lines += _nothing(rules, seat_rule)
    else:
        obstacle = rewrite_obstacle(rule, now) if now else ""
        lines += [*_entry("Result", _result(rule, now, seat_rule, obstacle)), ""] if now else []
        lines += _rule_entries(rule)
        lines += [] if obstacle else _effect(rule)
    lines += _seat_entries(group, seats, seat_rule, now, admission_seconds)
    lines += _entry("Past", past) if seat_rule and past else []
    lines += ["", *_state(now, unknown, similar)]
    return "\n".join(lines) + "\n"


def past_text(past: PastSeats | None, source: str) -> str:
    """Describe the rebalances that seats would have avoided; ``source`` names the source of the recorded past.

    If the past cannot be read, ``past`` is None, and ``source`` is the reason.
    """
    if past is None:
        return f"It is unknown how many rebalances this rule would have avoided: {source}"
    where = f"From {source}"
    if past.first_ms is None:
        return f"{where}: no rebalance is recorded."
    since = f"{where}: {plural(past.rebalances, 'rebalance')} since {moment_to_second(past.first_ms)}."
    if not past.spared:
        return (
            f"{since} It is not certain that this rule would have avoided any of them.{_merged_text(past.admissions)}"
        )
    epochs = past.group_type is GroupType.CONSUMER
    counted = f" ({plural(past.generations, 'group epoch' if epochs else 'generation')})"
    text = (
        f"{since} This rule would have avoided at least {past.spared} of them{counted}, in which partitions were "
        f"stalled for {partition_seconds(past.stalled_partition_seconds)} partition-seconds or more"
    )
    if past.vacant_partition_seconds:
        vacant = partition_seconds(past.vacant_partition_seconds)
        text += f", at the cost of at most {vacant} partition-seconds of vacant seats"
    conditions = f"This is certain only if all members were behind gateways {_IF_EPOCHS if epochs else _IF_CLASSIC}"
    return f"{text}. {conditions}.{_merged_text(past.admissions)}"


def _merged_text(past: PastAdmissions) -> str:
    """Describe the rebalances that joint admission would have merged, and the wait for it; empty without a wait."""
    if not past.waited_seconds:
        return ""
    merged = "no rebalances"
    if past.merged:
        stalled = f"{partition_seconds(past.stalled_partition_seconds)} partition-seconds or more"
        merged = f"{plural(past.merged, 'more rebalance')} (stalls: {stalled}) into other rebalances"
    waited = f"newcomers would have waited for at most {past.waited_seconds:.0f} s in total"
    return f" gateway_admission_seconds would have merged {merged}; {waited}."


def seat_seconds(rule: SeatRule, now: DescribedGroup | None) -> tuple[float, float]:
    """Return how long a newcomer waits and a seat is kept, at most; KIP-848 groups have lower limits."""
    if now is None or now.group_type is not GroupType.CONSUMER:
        return rule.hold_seconds, rule.keep_seconds
    return min(rule.hold_seconds, EPOCH_PATIENCE_SECONDS), min(rule.keep_seconds, EPOCH_KEPT_SECONDS)


def rewrite_obstacle(rule: Rule, now: DescribedGroup) -> str:
    """Return why no frame of the group would be rewritten in its state ``now``, and the fix; empty if unknown."""
    if now.group_type is not GroupType.CLASSIC:
        return f"in a {now.group_type} group the coordinator assigns"
    if not now.members or not now.assignor or now.assignor == rule.strategy.name:
        return ""
    if now.assignor not in COMMON_ASSIGNORS:
        if find_strategy(now.assignor):
            return ""
        return f"its members offer {_printable(now.assignor)}, which is not one of Kafka's own"
    return mismatch(rule.strategy, (now.assignor,))


def hidden_assignor(rule: Rule, now: DescribedGroup) -> str:
    """Return why the clients' own assignors are unknown, so that the rule may not apply; empty if they are known."""
    name = now.assignor or ""
    ours = now.group_type is GroupType.CLASSIC and name not in COMMON_ASSIGNORS and find_strategy(name)
    if not ours or name == rule.strategy.name:
        return ""
    return f"a gateway may have added {name}, or the members run it themselves; clients' own assignors are not visible"


def _nothing(rules: Rules, seats: SeatRule | None) -> Iterator[str]:
    then = "it keeps its own assignor" if _acts(seats) else "its frames are only observed, and forwarded unchanged"
    yield from _entry("Rule", f"No rule of gateway_groups matches the group's name: {then}.{_patterns(rules)}")


def _acts(seats: SeatRule | None) -> bool:
    """Return whether a rule for seats changes frames of the group, even if no strategy does."""
    return seats is not None and seats.mode is SeatMode.ON


def _patterns(rules: Rules | SeatRules) -> str:
    """Return a sentence with the patterns of ``rules``; empty if there are none."""
    patterns = ", ".join(_printable(rule.pattern.pattern) for rule in rules)
    return f" There are rules for {patterns}; a pattern must match the whole name." if patterns else ""


def _rule_entries(rule: Rule) -> Iterator[str]:
    strategy = rule.strategy
    yield from _entry("Rule", _printable(str(rule)))
    yield from _entry("Strategy", f"{strategy.name}: {strategy.summary}. It is {_HOW[strategy.protocol]}.")
    for setting in strategy.config:
        configured = rule.config.get(setting.name)
        value = _printable(configured) if configured is not None else f"default {setting.default or '-'}"
        yield from _entry("", f"{setting.name}: {value}")


def _effect(rule: Rule) -> Iterator[str]:
    strategy = rule.strategy
    extra = "" if strategy.writer is None else " and the strategy's data about the member"
    yield ""
    yield from _entry(
        "JoinGroup",
        f"The gateway adds {strategy.name} before the client's own assignors, which stay unchanged. Its subscription "
        f"(version 3) has the client's own topics and rack, its owned partitions, their generation{extra}. The "
        "response names the client's own assignor, and contains no data of the strategy.",
    )
    yield from _entry(
        "SyncGroup",
        "The strategy's assignment replaces the leader's. If the strategy fails or is too slow, the leader's own "
        "assignment is used. The name of the assignor is replaced in both directions.",
    )


def _seat_entries(
    group: str, rules: SeatRules | None, rule: SeatRule | None, now: DescribedGroup | None, admission_seconds: float
) -> Iterator[str]:
    if rule is None:
        if rules is not None and list(rules) and not any(each.pattern.fullmatch(group) for each in rules):
            yield from ["", *_entry("Seats", f"No rule of gateway_seats matches the group's name.{_patterns(rules)}")]
        return
    yield ""
    yield from _entry("Seats", _printable(str(rule)))
    if now is not None and now.group_type not in TYPES_WITH_SEATS:
        yield from _entry("", f"The gateway does nothing in a {now.group_type} group.")
        return
    yield from _entry("", f"{_SEATS[rule.mode]} {_waits(rule, *seat_seconds(rule, now))}")
    if admission_seconds:
        text = (
            "Newcomers that find no seat then wait until the clock reaches the next multiple of "
            f"gateway_admission_seconds ({admission_seconds:g} s), and join together; kept seats are given up together."
        )
        yield from _entry("", text)
    if rule.between_gateways and rule.mode is SeatMode.ON:
        needed = (
            f"The consumers' user needs Read on the group {_printable(helper_group(group))}, and the cluster needs "
            "group.version 1 or higher."
        )
        if rule.between is Between.LEASE:
            needed = (
                "Both gateways must be in pods of the same namespace, and their service accounts need get, list, "
                "create, update and delete on leases of coordination.k8s.io."
            )
        text = f"A newcomer may take the seat of a consumer behind another gateway with such a rule. {needed}"
        yield from _entry("", text)


def _waits(rule: SeatRule, hold_seconds: float, keep_seconds: float) -> str:
    """Return how long newcomers wait and seats are kept with the rule, or in mode 'observe' would wait and be kept."""
    acts = rule.mode is SeatMode.ON
    waits, keeps = ("waits", "keeps") if acts else ("would wait", "would keep")
    kept = f"the gateway {keeps} its seat for {keep_seconds:g} s" if rule.keep_seconds else "it leaves the group"
    newcomer = "A newcomer" if acts else "With mode 'on', a newcomer"
    return f"{newcomer} {waits} for at most {hold_seconds:g} s. If a consumer leaves and no newcomer waits, {kept}."


def _state(now: DescribedGroup | None, unknown: str, similar: str) -> Iterator[str]:
    if now is None:
        absent = f"The group does not exist{similar or '.'}"
        yield from _entry("Now", f"The group's state is not known: {unknown}" if unknown else absent)
        return
    assignor = _printable(now.assignor) if now.assignor else "none"
    text = f"{now.group_type} group, {now.state}, {plural(len(now.members), 'member')}, assignor {assignor}"
    yield from _entry("Now", text)
    for member in now.members[:MEMBERS_SHOWN_MAX]:
        name = _printable(member_name(member.client_id, member.instance_id))
        yield from _entry(
            "", f"{name} on {_printable(member.host)}: {plural(count_partitions(member.assigned or {}), 'partition')}"
        )
    if len(now.members) > MEMBERS_SHOWN_MAX:
        yield from _entry("", f"and {len(now.members) - MEMBERS_SHOWN_MAX} more")


def _entry(label: str, text: str) -> list[str]:
    return textwrap.wrap(f"{label:<{_INDENT}}{text}", _WIDTH, subsequent_indent=" " * _INDENT, break_on_hyphens=False)


def _result(rule: Rule, now: DescribedGroup, seats: SeatRule | None, obstacle: str) -> str:
    name = rule.strategy.name
    if obstacle:
        kept = "the group keeps its own assignor" if _acts(seats) else "nothing is rewritten"
        # A client that offers a cooperative and an eager assignor is eager; the group's state shows only one assignor.
        unsure = now.group_type is GroupType.CLASSIC and now.assignor == COOPERATIVE_STICKY
        return f"{kept}{f' if its clients offer only {COOPERATIVE_STICKY}' if unsure else ''}, because {obstacle}"
    if not now.members:
        return "the group has no members: the assignors of members are known when they join"
    if not now.assignor:
        return f"the group is {now.state}: its assignor is known when it is {GroupState.STABLE}"
    if now.assignor == name:
        return "the group uses the strategy"
    if hidden := hidden_assignor(rule, now):
        return f"it is unknown whether the rule applies: {hidden}"
    return f"the group uses {name} from the first rebalance in which all members are behind gateways with this rule"


def _printable(text: str) -> str:
    """Return a name that a client or user chose, escaped for output on a terminal."""
    return text if text.isprintable() and len(text) <= 200 else repr(text[:200])  # noqa: PLR2004 - one line
