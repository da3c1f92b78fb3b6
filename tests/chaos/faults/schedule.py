"""The faults with their start and duration, drawn from a seed: the same seed gives the same schedule."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from chaos.verdict.verdict import Verdict

QUIET_S = 10
"""Seconds without faults at the beginning and at the end: groups form, and late events arrive."""

PAUSES_S = (1.0, 6.0)
"""Seconds between the end of a fault and the next one (from, to)."""

BROKERS, GATEWAYS = 3, 2

FAULTS = {
    # weight, shortest and longest duration in seconds
    "broker killed": (3, 3, 9),
    "broker stopped": (2, 2, 8),
    "broker stopped in bursts": (2, 4, 10),
    "brokers restarted in turn": (1, 0, 0),
    "coordinators moved": (2, 0, 0),
    "one coordinator moved": (2, 0, 0),
    "network cut": (2, 2, 12),
    "network frozen": (2, 2, 12),
    "network slow": (2, 4, 10),
    "network loses": (2, 4, 10),
    "connections reset": (2, 0, 0),
    "agent killed": (4, 0, 6),
    "agent killed while it starts": (2, 0.3, 2),
    "agent stopped": (2, 2, 8),
    "agent restarted": (2, 0, 3),
    "agent out of memory": (1, 2, 6),
    "clock set forward": (1, 2, 900),
    "clock set back": (1, 2, 900),
    "sidecar gone": (2, 2, 8),
    "sidecar hangs": (2, 2, 8),
    "sidecar slow": (2, 4, 10),
    "sidecar flooded": (2, 2, 6),
    "sidecar out of memory": (1, 2, 6),
    "sidecar clock set forward": (1, 2, 900),
    "sidecar clock set back": (1, 2, 900),
    "hostile tenant": (2, 5, 10),
    "stream killed": (2, 0, 5),
}
"""Fault -> the weight with which it is drawn, and how long it lasts. For clocks: by how many seconds they are set; for
an agent that is killed while it starts: this time, multiplied by `agent_faults.MOMENT`, after it began to read."""

SEATS_FAULTS = {
    "gateway killed": (4, 0, 8),
    "gateway stopped": (4, 2, 15),
    "gateway restarted": (3, 0, 3),
    "both gateways killed": (1, 0, 3),
    **{name: row for name, row in FAULTS.items() if name.startswith(("broker", "coordinators", "one coordinator"))},
}
"""Faults of a run with ``--seats``, in the same form."""

HIDDEN_FAULTS = {
    **SEATS_FAULTS,
    **{name: FAULTS[name] for name in ("agent killed", "agent stopped", "agent restarted")},
}
"""Faults of a run with ``--hidden``, in the same form."""

STREAM = "stream killed"

WHOLE_MINUTES = 10
"""Minutes in which a run has every kind of fault, with their durations and the start of the brokers."""


@dataclass(frozen=True)
class Fault:
    """A fault that starts at ``at_s`` seconds, or when the previous ones are over."""

    at_s: float
    name: str
    seconds: float
    broker: int

    @property
    def what(self):
        """The fault in words."""
        lasts = f" ({self.seconds:.1f} s)" if self.seconds else ""
        name = re.sub(r"^(broker|gateway) ", lambda found: f"{found[1]} {self.number(found[1])} ", self.name)
        return f"{name}{lasts}"

    def number(self, of):
        """Return the number of the broker, or of the gateway, from 1 on."""
        return self.broker if of == "broker" else self.broker % GATEWAYS + 1

    def __str__(self):
        return f"{self.at_s:6.1f} s  {self.what}"


def faults_of(options):
    """Return the faults that a run with these options can have."""
    if options.seats:
        return HIDDEN_FAULTS if options.hidden else SEATS_FAULTS
    return {name: row for name, row in FAULTS.items() if options.spark or name != STREAM}


def schedule(seed, minutes, only=(), faults=FAULTS):
    """Return the faults in order: first each kind once, then kinds that are drawn by their weights."""
    chance = random.Random(seed)
    names = [name for name in faults if not only or name in only]
    first = chance.sample(names, len(names))
    at_s, end_s, drawn = float(QUIET_S), minutes * 60 - QUIET_S, []
    while at_s < end_s:
        name = first.pop() if first else chance.choices(names, [faults[each][0] for each in names])[0]
        _, shortest, longest = faults[name]
        fault = Fault(at_s, name, chance.uniform(shortest, longest), chance.randrange(BROKERS) + 1)
        drawn.append(fault)
        lasts_s = 0 if "clock" in name else fault.seconds
        at_s += lasts_s + chance.uniform(*PAUSES_S)
    return drawn


def happened(done, options):
    """Check that ``done`` (the number of injections by kind) has all requested kinds, and in a whole run all kinds."""
    names = faults_of(options)
    never = [name for name in names if not done[name]]
    what = "faults: " + ", ".join(f"{name} {done[name]}" for name in names if done[name])
    if never:
        what += f"; never: {', '.join(never)}"
    whole = options.minutes >= WHOLE_MINUTES and not (options.only or options.kinds)
    wanted = names if whole else options.only or ()
    return Verdict(what, tuple(f"there was no fault '{name}'" for name in never if name in wanted))
