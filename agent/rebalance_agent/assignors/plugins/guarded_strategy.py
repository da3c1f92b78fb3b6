"""Guards a strategy of another package: its exceptions become errors of this package, and its results are checked.

So the same code handles the errors of all strategies, and a plan that leaves a partition without an owner, or gives it
to too many members, is rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.plugins.result_checks import (
    check_bytes,
    check_copies,
    check_copies_plan,
    check_plan,
    check_promise,
    check_redundancy,
    check_topic_counts,
    check_user_data,
)
from rebalance_agent.assignors.roster import Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.errors import DecodeError, InvalidInputError, RebalanceAgentError, StrategyFailedError

__all__ = ["TEXT_SHOWN_MAX", "Guard", "error_text", "guarded"]

TEXT_SHOWN_MAX = 500
"""Maximum number of characters of another package's error that an error of this package repeats."""

_Check = Callable[..., object]
"""Takes a result and the arguments that led to it; raises ``ValueError`` if the result breaks the contract."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A function of another package. A call raises ``raises`` if the function fails or its result is wrong.

    ``label``: the strategy and the function, for the text. Exceptions of the classes ``passes`` are not replaced.
    """

    function: Callable[..., Any]
    label: str
    check: _Check
    raises: type[RebalanceAgentError] = StrategyFailedError
    passes: tuple[type[RebalanceAgentError], ...] = (StrategyFailedError,)

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - those of the function
        """Call the function and check its result.

        Raises:
            RebalanceAgentError: the function raised, or its result breaks the contract; the text has the reason.
        """
        try:
            result = self.function(*arguments)
        except self.passes:
            raise
        except Exception as error:
            raise self.raises(f"{self.label} raised {error_text(error)}") from error
        try:
            self.check(result, *arguments)
        except self.passes:
            raise
        except Exception as error:
            raise self.raises(f"{self.label} violates its contract: {error_text(error, named=False)}") from error
        return result


def guarded(strategy: Strategy, label: str) -> Strategy:
    """Return ``strategy`` with a `Guard` around each function; ``label`` names the strategy in errors.

    Functions that decode members' bytes then raise only `DecodeError`, a setting's ``read`` only ``ValueError``, and
    all others only `StrategyFailedError`. An already guarded strategy is returned unchanged.
    """
    if isinstance(strategy.plan, Guard):
        return strategy

    def guard(part: str, check: _Check, **more: Any) -> Any:  # noqa: ANN401 - the type of the strategy's field
        function = getattr(strategy, part)
        return None if function is None else Guard(function, f"{label}: {part}", check, **more)

    def check_own_plan(plan: object, roster: Roster) -> None:
        check_plan(plan, roster, 1 if redundancy is None else redundancy(roster))

    redundancy = guard("redundancy", _alone(check_redundancy))
    decodes = {"raises": DecodeError, "passes": (DecodeError,)}
    return replace(
        strategy,
        plan=guard("plan", check_own_plan),
        # The default promise is this package's own.
        promise=by_count if strategy.promise is by_count else guard("promise", check_promise),
        config=tuple(map(_guarded_setting, strategy.config)),
        reader=guard("reader", _alone(check_user_data), **decodes),
        writer=guard("writer", _alone(check_bytes)),
        copies=guard("copies", lambda plan, roster, *_: check_copies_plan(plan, roster)),
        # `Strategy.assign` reports an InvalidInputError only for its member.
        answer=guard("answer", _alone(check_bytes), passes=(StrategyFailedError, InvalidInputError)),
        copies_in=guard("copies_in", _alone(check_copies), **decodes),
        redundancy=redundancy,
        internal_topics=guard("internal_topics", _alone(check_topic_counts)),
        cooperative_reader=guard("cooperative_reader", _alone(check_user_data), **decodes),
        cooperative_writer=guard("cooperative_writer", _alone(check_bytes)),
    )


def error_text(error: BaseException, *, named: bool = True) -> str:
    """Return the text of ``error`` in one line of bounded length, with the name of its class if ``named``."""
    text = " ".join(str(error).split())[:TEXT_SHOWN_MAX]
    kind = type(error).__name__
    return (f"{kind}: {text}" if text else kind) if named or not text else text


def _alone(check: _Check) -> _Check:
    """Return a check that ignores the arguments."""
    return lambda result, *_: check(result)


def _guarded_setting(setting: Setting[Any]) -> Setting[Any]:
    def read(text: str) -> Any:  # noqa: ANN401 - the setting's type
        try:
            return setting.read(text)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(error_text(error)) from error

    return replace(setting, read=read, unknown=setting.unknown and _guarded_setting(setting.unknown))
