"""The number of examples that Hypothesis tries.

A hundred of each core rule with every change. ``--hypothesis-profile=quick``, which ``make test-fast`` has, tries a
quarter of that, and ``deep``, which ``make test-slow`` has, five times as many.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUICK = 25
USUAL = 100
DEEP = 500


def register_profiles() -> None:
    """Register the profiles, and load the one for every change."""
    # How long an example takes depends on who else uses the processors; pytest's own timeout ends what hangs.
    common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("rebalance-agent", common, max_examples=USUAL)
    settings.register_profile("quick", common, max_examples=QUICK)
    settings.register_profile("deep", common, max_examples=DEEP)
    settings.load_profile("rebalance-agent")


def examples(usual: int = USUAL) -> int:
    """The number of examples in the loaded profile, for a test with ``usual`` ones."""
    return max(1, usual * settings().max_examples // USUAL)
