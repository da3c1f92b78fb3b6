"""Scripts that complete ``rebalance-agent`` in Bash, Zsh and fish. They contain all words, so completion is fast."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rebalance_agent.cli.completion.command_words import CommandWords, FlagWords

__all__ = ["SCRIPTS"]

HELP_CHARACTERS_MAX = 80
"""Maximum number of characters of a flag's help in fish; fish shows the help beside the flag."""

_FIRST = ("--help", "--version")
"""Flags that may precede a command."""

_BASH = """\
# Completion of rebalance-agent in Bash, by `rebalance-agent completion bash`.
_rebalance_agent() {
  local word="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}" command="" place=0 index
  if [[ $word == "=" ]]; then word=""
  elif [[ $flag == "=" ]]; then flag="${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    if [[ ${COMP_WORDS[index]} != -* ]]; then command="${COMP_WORDS[index]}"; place=$index; break; fi
  done
  COMPREPLY=()
  case "$command" in
    "") COMPREPLY=($(compgen -W "@FIRST@" -- "$word")); return ;;
@COMMANDS@
  esac
}
complete -o bashdefault -F _rebalance_agent rebalance-agent
"""

_COMMAND = """\
    @NAME@)
      case "$flag" in
@VALUES@      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "@FLAGS@" -- "$word"))
      @WORDS@
      fi ;;
"""

_NAMES = 'COMPREPLY=($(compgen -f -- "$word"))'
"""Completes names of files and folders."""

_ZSH = """\
# Completion of rebalance-agent in Zsh, by `rebalance-agent completion zsh`.
autoload -U +X bashcompinit && bashcompinit
"""


def _bash(commands: Sequence[CommandWords]) -> str:
    """Return the script for Bash."""
    first = " ".join([*(command.name for command in commands), *_FIRST])
    cases = "".join(map(_bash_command, commands)).removesuffix("\n")
    return _filled(_BASH, {"FIRST": first, "COMMANDS": cases})


def _zsh(commands: Sequence[CommandWords]) -> str:
    """Return the script for Zsh, which runs the script for Bash."""
    return _ZSH + _bash(commands)


def _fish(commands: Sequence[CommandWords]) -> str:
    """Return the script for fish."""
    lines = [
        "# Completion of rebalance-agent in fish, by `rebalance-agent completion fish`.",
        "complete -c rebalance-agent -f",
    ]
    for command in commands:
        none = "__fish_use_subcommand"
        lines.append(f"complete -c rebalance-agent -n {none} -a {command.name} -d {_fish_text(command.help)}")
        here = shlex.quote(f"__fish_seen_subcommand_from {command.name}")
        lines += (f"complete -c rebalance-agent -n {here} {words}" for words in _fish_words(command))
    return "\n".join(lines) + "\n"


SCRIPTS: Mapping[str, Callable[[Sequence[CommandWords]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""Shell -> the function that returns its script."""


def _bash_command(command: CommandWords) -> str:
    followed: dict[str, list[str]] = {}
    for flag in command.flags:
        if flag.takes_value:
            followed.setdefault(_bash_values(flag), []).extend(flag.names)
    values = "".join(f"        {'|'.join(names)}) {action}; return ;;\n" for action, names in followed.items())
    words = (
        f"elif (( COMP_CWORD == place + 1 )); then {_matching(command.words)}" if command.words else f"else {_NAMES}"
    )
    flags = [name for flag in command.flags for name in flag.names]
    return _filled(_COMMAND, {"NAME": command.name, "VALUES": values, "FLAGS": " ".join(flags), "WORDS": words})


def _matching(words: Iterable[str]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"))'


def _bash_values(flag: FlagWords) -> str:
    if flag.file:
        return _NAMES
    return _matching(flag.values) if flag.values else ":"


def _fish_words(command: CommandWords) -> Iterator[str]:
    if command.words:
        yield f"-a {shlex.quote(' '.join(command.words))}"
    for flag in command.flags:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
        value = f" -x -a {shlex.quote(' '.join(flag.values))}" if flag.values else " -r" if flag.file else " -x"
        yield f"{names}{value if flag.takes_value else ''}{' -F' if flag.file else ''} -d {_fish_text(flag.help)}"


def _fish_text(text: str) -> str:
    """Return the beginning of a text, quoted with single quotes for fish."""
    cut = text if len(text) <= HELP_CHARACTERS_MAX else text[: HELP_CHARACTERS_MAX - 1] + "…"
    return "'" + cut.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        template = template.replace(f"@{name}@", part)
    return template
