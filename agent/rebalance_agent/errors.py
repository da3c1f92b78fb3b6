"""Every exception this package raises on purpose, in one tree.

::

    RebalanceAgentError
    ├── InvalidInputError        something from outside (file, flag, HTTP, environment) is wrong; names the field
    │   ├── InvalidFieldsError   several fields are wrong; names all of them
    │   │   └── PostError        lines of posted events (``api.posted_events``)
    │   └── SettingsErrors       every wrong setting of a command at once (``runtime.settings.settings_sources``)
    ├── DecodeError              bytes that do not follow their Kafka schema
    ├── AssignmentError          a strategy cannot be carried out (unknown name, contradictory settings)
    │   ├── InternalTopicError   internal topics of a strategy are missing or have wrong partition counts
    │   └── StrategyFailedError  a strategy of another package raises, or breaks its contract
    ├── ClusterError             a required broker, topic or permission is missing
    │   └── AccessDeniedError    the cluster denies an operation to this principal
    ├── DeliveryError            events cannot be delivered to a file or a webhook (``runtime.sinks.queued_sink``)
    ├── RefusedError             a connection cannot continue (``gateway.transport.close_reason``)
    ├── PushError                telemetry of a client is refused (``gateway.telemetry.push_error``)
    ├── ListenError              an address cannot be listened on
    ├── NotKnownError            the API does not have the requested object (``api.query``)
    ├── AgentError               an observer cannot be reached, or answers something else (``cli.inputs.agent_api``)
    ├── artifacts.errors         ArtifactError: jars or Java cannot be obtained
    ├── testing.errors           BrokerError: the embedded Kafka
    ├── pipeline.errors          PipelineError: Spark, a table or an input of the pipeline
    └── demo.errors              DemoError: a process of the demo ended, or did not become ready

Code that runs inside a user's consumer never lets one of these out: see ``rebalance_agent.instrumentation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "AccessDeniedError",
    "AssignmentError",
    "ClusterError",
    "DecodeError",
    "InternalTopicError",
    "InvalidFieldsError",
    "InvalidInputError",
    "ListenError",
    "RebalanceAgentError",
    "StrategyFailedError",
    "WrongField",
    "check_hint",
]


class RebalanceAgentError(Exception):
    """Base class of this package's errors. ``str()`` is one line with what to do."""


@dataclass(frozen=True, slots=True)
class WrongField:
    """The path of a ``field`` and the ``problem`` with it.

    It is no exception: an exception that is kept refers to the frames that it left, and so to the whole input.
    """

    field: str
    problem: str


class InvalidInputError(RebalanceAgentError):
    """Input from outside does not match its schema or a bound. The message begins with the path of the field."""

    def __init__(self, field: str, problem: str) -> None:
        """Name the ``field`` (a dotted path such as ``members[1].topics``) and the ``problem`` with it."""
        super().__init__(f"{field}: {problem}" if field else problem)
        self.field = field
        self.problem = problem
        self.faults: tuple[WrongField, ...] = (WrongField(field, problem),)


class InvalidFieldsError(InvalidInputError):
    """At least one field of one input is wrong. ``field``, ``problem`` and the message are the first one's."""

    def __init__(self, faults: Sequence[WrongField]) -> None:
        """``faults``: one for each wrong field, not empty."""
        super().__init__(faults[0].field, faults[0].problem)
        self.faults = tuple(faults)


class DecodeError(RebalanceAgentError):
    """Bytes end early, declare a length beyond their end, or break their Kafka schema."""


class AssignmentError(RebalanceAgentError):
    """A strategy is unknown, or its settings contradict each other."""


class InternalTopicError(AssignmentError):
    """Repartition or changelog topics are missing, or have another partition count than the strategy needs."""


class StrategyFailedError(AssignmentError):
    """A strategy of another package raised, or its result breaks the contract of strategies."""


class ClusterError(RebalanceAgentError):
    """The Kafka cluster cannot be reached, or denies an operation."""


class AccessDeniedError(ClusterError):
    """The cluster denies an operation because the principal lacks a permission; a retry does not help."""


class ListenError(RebalanceAgentError):
    """The process cannot listen on ``address`` (``host:port``): it is in use, not this machine's, or not allowed."""

    def __init__(self, address: str, reason: object) -> None:
        """``reason``: the operating system's text."""
        super().__init__(f"cannot listen on {address}: {reason}")
        self.address = address


def check_hint(role: str = "") -> str:
    """Return the sentence after a `ClusterError`: which command finds the cause. ``role``: see `check --role`."""
    command = f"check --role {role}" if role else "check"
    return f"`rebalance-agent {command}` with the same settings tests servers, login and permissions"
