"""Faults of the observer and the sidecar."""

from __future__ import annotations

import contextlib
from http.client import HTTPException

from chaos.faults.flood import post
from chaos.processes.programs import run_program
from chaos.processes.run_context import pause_process, pause_repeatedly
from support.observer.observing import eventually, http

MEMORY_BYTES = 4 << 20
HELD_S, GOES_ON_S = (0.3, 2.0), (0.02, 0.1)
"""Seconds for which a slow process is stopped, and then runs, in turn."""

MOMENT = 0.02
"""Part of the fault's length in which an observer reads only some of the old records."""

WRONG_CLOCK_S = 3


# The observer


def _agent_killed(context, fault):
    context.observer.life.kill()
    context.wait(fault.seconds)
    context.observer.start()


def _agent_killed_early(context, fault):
    """Kill an observer as soon as it has begun to read old records, which takes only a moment."""
    context.observer.life.kill()
    for _ in range(2):
        context.observer.start()
        life = context.observer.life
        begun = life.reads_past()
        context.wait(fault.seconds * MOMENT if begun else 0)
        print(f"           killed when it was {'' if life.ready() else 'not yet '}ready", flush=True)
        life.kill()
    context.observer.start()


def _agent_stopped(context, fault):
    pause_process(context, context.observer.life.pid, fault.seconds)


def _agent_restarted(context, fault):
    context.observer.life.stop()
    context.wait(fault.seconds)
    context.observer.start()


def _agent_starved(context, fault):
    _starve(context, context.observer, fault.seconds)


def _clock_forward(context, fault):
    _set_clock(context, context.observer, fault.seconds)


def _clock_back(context, fault):
    _set_clock(context, context.observer, -fault.seconds)


# The sidecar


def _sidecar_gone(context, fault):
    context.sidecar.life.kill()
    context.wait(fault.seconds)
    context.sidecar.start()


def _sidecar_hangs(context, fault):
    pause_process(context, context.sidecar.life.pid, fault.seconds)


def _sidecar_slow(context, fault):
    pause_repeatedly(context, context.sidecar.life.pid, fault.seconds, HELD_S, GOES_ON_S)


def _sidecar_flooded(context, fault):
    """A hostile client floods the sidecar; afterwards it must work as before."""
    eventually(lambda: context.sidecar.life.port, waiting_for="the sidecar, which has just started")
    web = f"127.0.0.1:{context.sidecar.life.port}"
    flooded = run_program("chaos.faults.flood", context.events, web, fault.seconds)
    print(f"           flooded: {flooded}", flush=True)
    # During the flood the sidecar may refuse everything; soon after it, nothing.
    eventually(
        lambda: context.sidecar.life.ready() and _takes(context.events), waiting_for="the sidecar, which was flooded"
    )


def _takes(events):
    """Whether the endpoint accepts posts."""
    with contextlib.suppress(OSError, HTTPException):
        return http(f"http://{events}/v1/events", post())[0] in range(200, 300)
    return False


def _sidecar_starved(context, fault):
    _starve(context, context.sidecar, fault.seconds)


def _sidecar_clock_forward(context, fault):
    _set_clock(context, context.sidecar, fault.seconds)


def _sidecar_clock_back(context, fault):
    _set_clock(context, context.sidecar, -fault.seconds)


# Both


def _starve(context, agent, seconds):
    """Let the process allocate at most `MEMORY_BYTES` more, and restart it afterwards in any case."""
    life = agent.life
    life.limit_memory(MEMORY_BYTES)
    context.wait(seconds)
    how = "went on" if life.running else "ended"
    print(f"           {how} with {MEMORY_BYTES >> 20} MiB more at most", flush=True)
    life.limit_memory(None)
    # A process that ran out of memory may be in any state: restart it, as an orchestrator does.
    life.kill()
    agent.start()


def _set_clock(context, agent, seconds):
    agent.set_clock(seconds * 1000)
    context.wait(WRONG_CLOCK_S, then=lambda: agent.set_clock(0))


AGENT_FAULTS = {
    "agent killed": _agent_killed,
    "agent killed while it starts": _agent_killed_early,
    "agent stopped": _agent_stopped,
    "agent restarted": _agent_restarted,
    "agent out of memory": _agent_starved,
    "clock set forward": _clock_forward,
    "clock set back": _clock_back,
    "sidecar gone": _sidecar_gone,
    "sidecar hangs": _sidecar_hangs,
    "sidecar slow": _sidecar_slow,
    "sidecar flooded": _sidecar_flooded,
    "sidecar out of memory": _sidecar_starved,
    "sidecar clock set forward": _sidecar_clock_forward,
    "sidecar clock set back": _sidecar_clock_back,
}
