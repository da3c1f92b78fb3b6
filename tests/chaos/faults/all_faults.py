"""Injects all faults of a run in order."""

from __future__ import annotations

from collections import Counter

from chaos.faults.faults import inject
from chaos.faults.schedule import WHOLE_MINUTES


def inject_all(context, faults, minutes, acts):
    """Inject the faults in order; return how often each was injected and undone."""
    began, done, left = context.clock.monotonic(), Counter(), 0
    for fault in faults:
        context.wait(max(0.0, fault.at_s - (context.clock.monotonic() - began)))
        # On a slow machine a whole run takes longer, so that no kind of fault is missing.
        if context.clock.monotonic() - began > minutes * 60 and (done[fault.name] or minutes < WHOLE_MINUTES):
            left += 1
            continue
        print(f"  {context.clock.monotonic() - began:6.1f} s  {fault.what}", flush=True)
        acts.note("fault", name=fault.name)
        inject(context, fault)
        acts.note("fault over", name=fault.name)
        done[fault.name] += 1
        if died := next(filter(None, (each.life.died for each in context.agents)), None):
            raise AssertionError(died)
        if context.stream:
            context.stream.look()
    if left:
        print(f"  (no time for {left} more)", flush=True)
    context.wait(max(0.0, minutes * 60 - (context.clock.monotonic() - began)))
    return done
