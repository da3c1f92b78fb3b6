"""Injects each fault of the timetable, and undoes it before the next one."""

from __future__ import annotations

from chaos.faults.agent_faults import AGENT_FAULTS
from chaos.faults.broker_faults import BROKER_FAULTS

DELAY_S, LOSS = (0.05, 0.6), (0.05, 0.4)


def inflict(stage, fault):
    """Inject the fault for its duration, and undo it."""
    DOINGS[fault.name](stage, fault)


# The network between agents and brokers


def _network_cut(stage, fault):
    stage.network.cut()
    stage.wait(fault.seconds, then=stage.network.heal)


def _network_frozen(stage, fault):
    stage.network.freeze()
    stage.wait(fault.seconds, then=stage.network.heal)


def _network_slow(stage, fault):
    stage.network.delay_s = stage.chance.uniform(*DELAY_S)
    stage.wait(fault.seconds, then=stage.network.heal)


def _network_loses(stage, fault):
    stage.network.loss = stage.chance.uniform(*LOSS)
    stage.wait(fault.seconds, then=stage.network.heal)


def _connections_reset(stage, _fault):
    stage.network.reset()


# The pipeline


def _stream_killed(stage, fault):
    stage.stream.kill()
    stage.wait(fault.seconds)
    stage.stream.start()


DOINGS = {
    **BROKER_FAULTS,
    "network cut": _network_cut,
    "network frozen": _network_frozen,
    "network slow": _network_slow,
    "network loses": _network_loses,
    "connections reset": _connections_reset,
    **AGENT_FAULTS,
    "stream killed": _stream_killed,
}
