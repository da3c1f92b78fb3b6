"""Faults of the gateways between brokers and members."""

from __future__ import annotations

from chaos.processes.run_context import pause_process


def _gateway_killed(context, fault):
    _kill(context, [_of(context, fault)], fault.seconds)


def _both_killed(context, fault):
    _kill(context, context.gateways, fault.seconds)


def _gateway_stopped(context, fault):
    """Pause a gateway: its members' connections stay open, and its locks of seats expire."""
    pause_process(context, _of(context, fault).life.pid, fault.seconds)


def _gateway_restarted(context, fault):
    gateway = _of(context, fault)
    gateway.life.stop()
    context.wait(fault.seconds)
    gateway.start()


def _of(context, fault):
    return context.gateways[fault.number("gateway") - 1]


def _kill(context, gateways, seconds):
    for each in gateways:
        each.life.kill()
    context.wait(seconds)
    for each in gateways:
        each.start()


GATEWAY_FAULTS = {
    "gateway killed": _gateway_killed,
    "gateway stopped": _gateway_stopped,
    "gateway restarted": _gateway_restarted,
    "both gateways killed": _both_killed,
}
