"""Reads from a live Prometheus which alerts fire."""

from __future__ import annotations

from rebalance_agent.clock import SystemClock
from support.observer.observing import eventually

__all__ = ["LiveAlerts"]


class LiveAlerts:
    """The alerts that fire now in a Prometheus, and those that fired since this object was made."""

    def __init__(self, prometheus):
        self._prometheus = prometheus
        self._clock = SystemClock()
        self._began = self._now()

    def _now(self):
        return self._clock.now_ms() / 1000

    def now(self):
        """Alerts with their group."""
        found = self._prometheus.answer("query", query='ALERTS{alertstate="firing"}')["result"]
        return {(each["metric"]["alertname"], each["metric"].get("consumergroup", "")) for each in found}

    def fired(self, group):
        """Every alert of the group until now."""
        expression = f'ALERTS{{alertstate="firing", consumergroup="{group}"}}'
        found = self._prometheus.over(expression, self._began, self._now(), 1)
        return {each.labels["alertname"] for each in found}

    def sees(self, expression):
        eventually(lambda: self._prometheus.answer("query", query=expression)["result"], waiting_for=expression)

    def fires(self, alert, group=""):
        eventually(lambda: (alert, group) in self.now(), waiting_for=f"{alert} fires")

    def ends(self, alert, group=""):
        eventually(lambda: (alert, group) not in self.now(), waiting_for=f"{alert} ends")
