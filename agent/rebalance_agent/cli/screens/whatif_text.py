"""Formats the output of `whatif` as text (table and sentences) and as JSON. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rebalance_agent.advice import Fidelity, Figures, Recommendation, StrategyOutcome, WhatIf
from rebalance_agent.advice.figures import STALLS_FIELDS
from rebalance_agent.advice.replay.eligible_strategies import family
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.model.group import GroupType
from rebalance_agent.ui.words import UNKNOWN, bounds_text, partition_seconds, plural, printable, table_text, wrapped

__all__ = ["CSV_COLUMNS", "as_json", "csv_rows", "text"]

_HEADINGS = ("STRATEGY", "PROTOCOL", "SKEW", "WORST", "ONE HOST", "RESTART", "MOVED", "EXCESS", "STALLED")
CSV_COLUMNS = (
    *("strategy", "protocol", "recorded", "refused", "rebalances", "moved", "excess", "skew_mean", "skew_max"),
    *("imbalance_mean", "clustered_mean", "clustered_anew", *STALLS_FIELDS),
)

_ONE_HOST = _HEADINGS.index("ONE HOST")
_AFTER_HOSTS = _HEADINGS.index("MOVED")
_NAMES = 2
"""Columns of names, which are left-aligned; the other columns are numbers."""


def text(what_if: WhatIf, fidelity: Fidelity, advice: Recommendation, source: str) -> str:
    """Return the text that the command prints. ``source`` describes where the events come from."""
    count = what_if.recorded.generations
    heading = f"{printable(what_if.group)}: {plural(count, 'rebalance')} replayed, from {source}."
    parts = [
        heading,
        _table(what_if),
        "\n".join(_refused(what_if.outcomes)),
        "\n".join([*_trust(what_if), *_fidelity(what_if, fidelity)]),
        wrapped(f"Recommendation: {printable(advice.sentence)}"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_json(what_if: WhatIf, fidelity: Fidelity, advice: Recommendation, source: str) -> dict[str, object]:
    """Return the facts of `text` as a JSON-ready object; unknown values are null."""
    return {
        "group": what_if.group,
        "cluster_id": what_if.cluster_id,
        "source": source,
        "assignor": what_if.assignor,
        "protocol": what_if.protocol.value,
        "rebalances": what_if.recorded.generations,
        "recorded": _figures(what_if.recorded)
        | {"upper_stalled_partition_seconds": what_if.recorded_upper if what_if.recorded.stalls else None},
        "predicted": _figures(what_if.predicted),
        "clustered_anew": _clustered(what_if.spread_anew),
        "strategies": [
            {"strategy": outcome.strategy, "protocol": outcome.protocol.value, "refused": outcome.refused}
            | (
                _figures(outcome.figures) | {"clustered_anew": _clustered(outcome.spread_anew)}
                if outcome.refused is None
                else {}
            )
            for outcome in what_if.outcomes
        ],
        "fidelity": {
            "moves": fidelity.moves,
            "skew": fidelity.skew,
            "checked": fidelity.checked,
            "not_comparable": fidelity.not_comparable,
            "lines": [asdict(line) for line in fidelity.lines],
        },
        "recommendation": {
            name: value for name, value in asdict(advice).items() if name not in ("cluster_id", "group")
        },
    }


def csv_rows(result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield the rows of CSV from the JSON result: first the recorded history, then each strategy."""
    recorded = {
        "strategy": result["assignor"],
        "protocol": result["protocol"],
        "clustered_anew": result["clustered_anew"],
    }
    yield recorded | {"recorded": True} | result["recorded"]
    for strategy in result["strategies"]:
        yield {"recorded": False} | strategy


def _table(what_if: WhatIf) -> str:
    rows: list[tuple[str, ...]] = []
    if what_if.recorded.generations:
        unnamed = UNKNOWN if what_if.group_type is GroupType.CLASSIC else "assigned by the broker"
        name = f"{what_if.assignor or unnamed} (recorded)"
        *row, stalled = _row(name, what_if.protocol.value, what_if.recorded, what_if.spread_anew)
        rows.append((*row, _recorded_stalls(what_if) if what_if.recorded.stalls else stalled))
    rows += [
        _row(outcome.strategy, outcome.protocol.value, outcome.figures, outcome.spread_anew)
        for outcome in what_if.outcomes
        if outcome.refused is None
    ]
    headings: tuple[str, ...] = _HEADINGS
    if all(row[_ONE_HOST] == UNKNOWN for row in rows):  # all members are on one host
        headings, rows = _without(headings), list(map(_without, rows))
    return table_text(headings, rows, range(_NAMES, len(headings))) if rows else ""


def _without(row: tuple[str, ...]) -> tuple[str, ...]:
    return row[:_ONE_HOST] + row[_AFTER_HOSTS:]


def _recorded_stalls(what_if: WhatIf) -> str:
    """Return both bounds of the recorded partition-seconds."""
    return bounds_text(what_if.recorded.stalled_partition_seconds, what_if.recorded_upper, partition_seconds)


def _row(name: str, protocol: str, figures: Figures, anew: HostSpread | None) -> tuple[str, ...]:
    skew, clustered = figures.skew_mean, figures.clustered_mean
    return (
        printable(name),
        protocol,
        UNKNOWN if skew is None else f"{skew:.2f}",
        f"{figures.skew_max:.2f}",
        UNKNOWN if clustered is None else f"{clustered:.0%}",
        UNKNOWN if anew is None else str(anew.clustered),
        str(figures.moved),
        str(figures.excess),
        partition_seconds(figures.stalled_partition_seconds) if figures.stalls else UNKNOWN,
    )


def _refused(outcomes: Sequence[StrategyOutcome]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.refused is not None:
            reasons.setdefault(outcome.refused, []).append(outcome.strategy)
    for reason, names in reasons.items():
        # Both forms of a strategy are refused for the same reason.
        kinds = dict.fromkeys(family(name) if family(name) in names else name for name in names)
        yield wrapped(f"Not replayed: {', '.join(kinds)}: {reason}.")


def _trust(what_if: WhatIf) -> Iterator[str]:
    stalls, count = what_if.predicted.stalls, what_if.recorded.generations
    if not count or what_if.group_type is not GroupType.CLASSIC:
        return
    if not stalls:
        if count == 1:
            yield wrapped("Moves and stalls are not predicted: the first recorded rebalance counts for skew only.")
        else:
            yield wrapped("Stalls are not predicted: the start of every rebalance is unknown.")
        return
    recorded, predicted = _recorded_stalls(what_if), partition_seconds(what_if.predicted.stalled_partition_seconds)
    yield wrapped(
        f"Stalls are predicted in partition-seconds, for {stalls} of {plural(count, 'rebalance')}. For the recorded "
        f"assignments the model predicts {predicted}; the recorded value is "
        f"{'unknown' if recorded == UNKNOWN else recorded}."
    )


def _fidelity(what_if: WhatIf, fidelity: Fidelity) -> Iterator[str]:
    if what_if.group_type is not GroupType.CLASSIC:
        return  # no strategy was replayed, so there is no replay to trust
    for line in fidelity.lines:
        name = printable(line.assignor) or "no assignor"
        # The figures above count only rebalances with the last assignor.
        when = "before the last change of assignor" if line.assignor not in {"", what_if.assignor} else ""
        if line.checked:
            repeated = f"The replay repeats {line.same_assignment} of {line.checked} recorded assignments of {name}"
            repeated += f" ({when})" if when else ""
            yield wrapped(f"{repeated}{f'; {line.difference}' if line.difference else ''}.")
        if line.not_comparable:
            assigned_by = f"{line.implementation}, {when}" if when else line.implementation
            yield wrapped(
                f"A replay may differ from {plural(line.not_comparable, 'recorded assignment')} of {name} (assigned "
                f"by {assigned_by}): {printable(line.reason or '')}. {line.agreeing} of them did not differ."
            )


def _clustered(anew: HostSpread | None) -> int | None:
    return None if anew is None else anew.clustered


def _figures(figures: Figures) -> dict[str, object]:
    has_figures = figures.generations > 0
    return {
        "rebalances": figures.generations,
        "moved": figures.moved,
        "excess": figures.excess,
        "skew_mean": figures.skew_mean,
        "skew_max": figures.skew_max if has_figures else None,
        "imbalance_mean": figures.imbalance_mean,
        "clustered_mean": figures.clustered_mean,
        **{name: getattr(figures, name) if figures.stalls else None for name in STALLS_FIELDS},
    }
