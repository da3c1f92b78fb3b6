"""The number of examples that Hypothesis tries.

Every change is tested with 60 for each core rule. ``--hypothesis-profile=quick`` (``make test-fast``) tries 25, and
``deep`` (``make test-slow``) 500, to find rare cases.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUICK = 25
USUAL = 60
DEEP = 500
ALL = 100
"""The number of examples that `examples` is relative to."""


def register_profiles() -> None:
    """Register the profiles, and load the one for every change."""
    # The duration of an example depends on other load; pytest's own timeout ends a hanging one.
    common = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("rebalance-agent", common, max_examples=USUAL)
    settings.register_profile("quick", common, max_examples=QUICK)
    settings.register_profile("deep", common, max_examples=DEEP)
    settings.load_profile("rebalance-agent")


def examples(wanted: int = ALL) -> int:
    """The number of examples in the loaded profile, for a test with ``wanted`` of `ALL`."""
    return max(1, wanted * settings().max_examples // ALL)
