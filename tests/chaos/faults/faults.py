"""Injects each fault of the schedule, and undoes it before the next one."""

from __future__ import annotations

from chaos.faults.agent_faults import AGENT_FAULTS
from chaos.faults.broker_faults import BROKER_FAULTS
from chaos.faults.gateway_faults import GATEWAY_FAULTS
from chaos.processes.programs import run_program

DELAY_S, LOSS = (0.05, 0.6), (0.05, 0.4)


def inject(context, fault):
    """Inject the fault for its duration, and undo it."""
    INJECTED[fault.name](context, fault)


# The network between agents and brokers


def _network_cut(context, fault):
    context.network.cut()
    context.wait(fault.seconds, then=context.network.heal)


def _network_frozen(context, fault):
    context.network.freeze()
    context.wait(fault.seconds, then=context.network.heal)


def _network_slow(context, fault):
    context.network.delay_s = context.chance.uniform(*DELAY_S)
    context.wait(fault.seconds, then=context.network.heal)


def _network_loses(context, fault):
    context.network.loss = context.chance.uniform(*LOSS)
    context.wait(fault.seconds, then=context.network.heal)


def _connections_reset(context, _fault):
    context.network.reset()


# Other tenants


def _hostile_tenant(context, fault):
    """A hostile client forms groups that no library would form, which cost the observer as much as they can."""
    seed = context.chance.randrange(1_000_000)
    done = run_program("chaos.faults.tenant", context.kafka.bootstrap_servers, context.events, fault.seconds, seed)
    print(f"           tenant: {done}", flush=True)


# The pipeline


def _stream_killed(context, fault):
    context.stream.kill()
    context.wait(fault.seconds)
    context.stream.start()


INJECTED = {
    **BROKER_FAULTS,
    **GATEWAY_FAULTS,
    "network cut": _network_cut,
    "network frozen": _network_frozen,
    "network slow": _network_slow,
    "network loses": _network_loses,
    "connections reset": _connections_reset,
    **AGENT_FAULTS,
    "hostile tenant": _hostile_tenant,
    "stream killed": _stream_killed,
}
