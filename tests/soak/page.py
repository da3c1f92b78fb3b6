"""The report of a soak: one self-contained HTML file with a curve and a verdict for each measure."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.ui.words import escaped
from soak.samples import MEASURES, Measure, Sample
from soak.slopes import Slope

__all__ = ["soak_page", "verdict"]

WIDTH, HEIGHT = 720, 120

_PAGE = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>soak</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2em auto;padding:0 1em}}
svg{{width:100%;background:#f6f7f9}}polyline{{fill:none;stroke:#2f6fde}}line{{stroke:#d23;stroke-dasharray:4}}
.bad{{color:#b00}}</style>
<h1>Soak: {verdict}</h1><p>{summary}</p>{curves}</html>
"""


def verdict(measure: Measure, slope: Slope) -> str:
    """One line: the slope with its error, and whether that is growth."""
    ending = "GROWS" if slope.grows(measure.allowed) else "flat"
    reported = f"{slope.per_hour:+.3g} +- {slope.error:.2g} {measure.unit}".strip()
    return f"{measure.title}: {slope.start:.4g} to {slope.end:.4g} {measure.unit}, {reported} an hour: {ending}"


def soak_page(samples: Sequence[Sample], slopes: Sequence[Slope], summary: str) -> str:
    """The whole page; ``slopes`` in the order of `MEASURES`."""
    pairs = list(zip(MEASURES, slopes, strict=True))
    grown = [measure.title for measure, slope in pairs if slope.grows(measure.allowed)]
    return _PAGE.format(
        verdict=escaped(f"{', '.join(grown)} grows" if grown else "flat"),
        summary=escaped(summary),
        curves="".join(_curve(measure, slope, samples) for measure, slope in pairs),
    )


def _curve(measure: Measure, slope: Slope, samples: Sequence[Sample]) -> str:
    values = [float(getattr(each, measure.name)) for each in samples]
    top, last = max(*values, slope.start, slope.end, 1e-9) * 1.1, samples[-1].hours or 1.0
    first = samples[0].hours

    def place(hours: float, value: float) -> str:
        return f"{(hours - first) / ((last - first) or 1) * WIDTH:.1f},{HEIGHT - value / top * HEIGHT:.1f}"

    points = " ".join(place(each.hours, value) for each, value in zip(samples, values, strict=True))
    (x1, y1), (x2, y2) = (
        place(first, slope.start).split(","),
        place(last, slope.end).split(","),
    )
    kind = "bad" if slope.grows(measure.allowed) else "good"
    return (
        f'<h2 class="{kind}">{escaped(verdict(measure, slope))}</h2><svg viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<polyline points="{points}"/><line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/></svg>'
    )
