"""Alertmanager's ``inhibit_rules``: which alert inhibits which others."""

from __future__ import annotations

from typing import Any

__all__ = ["inhibit_rules"]

_GROUP = ["cluster", "consumergroup"]


def inhibit_rules() -> list[dict[str, Any]]:
    """Return the rules. A label in ``equal`` that both alerts lack counts as equal."""
    return [
        _rule(
            ['alertname="RebalanceAgentDown"'],
            [
                'alertname=~"KafkaGroup.+|RebalanceAgent(Blind|Degraded|DroppingEvents|GatewayActsWrong|SnapshotOld|TenantOverBudget|Undecodable)"'
            ],
            ["cluster"],
        ),
        _rule(
            ['alertname=~"KafkaGroup.+"', 'severity="critical"'],
            ['alertname=~"KafkaGroup.+"', 'severity=~"warning|info"'],
            _GROUP,
        ),
        _rule(
            ['alertname="KafkaGroupRolloutInProgress"'],
            ['alertname="KafkaGroupRebalanceStorm"'],
            _GROUP,
        ),
        _rule(['alertname="KafkaGroupStalled"'], ['alertname="KafkaGroupRebalanceSlow"'], _GROUP),
        _rule(['alertname="KafkaGroupStallBudgetBurnMedium"'], ['alertname="KafkaGroupStallBudgetBurnSlow"'], _GROUP),
        _rule(['alertname="KafkaGroupTopicsOnOneHost"'], ['alertname="KafkaGroupTopicClustered"'], _GROUP),
        _rule(['alertname="KafkaGroupAssignmentSkewed"'], ['alertname="KafkaGroupAssignmentImbalanced"'], _GROUP),
    ]


def _rule(source: list[str], target: list[str], equal: list[str]) -> dict[str, Any]:
    return {"source_matchers": source, "target_matchers": target, "equal": equal}
