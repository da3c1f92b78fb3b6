"""The release workflow runs the steps of `make release-check` with few rights; what it publishes has no dead link."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from docs.developers.site.repository_address import Address

import rebalance_agent
from supply.release.agreement import UNRELEASED, unreleased_words, versions
from supply.release.chart_metadata import CHART, ICON, SCREENSHOTS, problems
from supply.release.command import parser
from supply.release.interpreters import VERSIONS
from supply.release.staging import PAGES, stage
from supply.release.step_table import STEPS

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load(TEXT)
JOBS = WORKFLOW["jobs"]
PROGRAM = ["python", "tests/supply/release"]

WRITES = {
    "build": set(),
    "install": set(),
    "images": set(),
    "push-images": {"packages"},
    "join-images": {"attestations", "id-token", "packages"},
    "push-chart": {"attestations", "id-token", "packages"},
    "publish-pypi": {"id-token"},
    "publish-release": {"attestations", "contents", "id-token"},
}
"""Job -> what it may write; all may read the repository, and nothing else."""

ADDRESS = Address("https://code.example/owner/name", "v1.2.3")
STAGED = (*PAGES, "pyproject.toml", f"{CHART}/Chart.yaml", f"{CHART}/values.yaml")


def steps_of(job):
    """The steps of the release that a job runs."""
    lines = [line for step in JOBS[job]["steps"] for line in step.get("run", "").splitlines()]
    calls = [shlex.split(line)[2:] for line in lines if line.split()[:2] == PROGRAM]
    return [name for call in calls for name in parser().parse_args(_with_values(call)).steps]


def _with_values(arguments):
    """The arguments with the values that the workflow's variables have."""
    return [{"$TAG": "v0.1.0", "$PYTHON": "3.12"}.get(argument, argument) for argument in arguments]


def needed(job):
    """The jobs that must have passed before ``job`` starts."""
    direct = JOBS[job].get("needs", [])
    direct = [direct] if isinstance(direct, str) else direct
    return {*direct, *(each for other in direct for each in needed(other))}


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    return stage(ROOT, STAGED, tmp_path_factory.mktemp("staged"), ADDRESS, "registry.example/owner")


def test_every_action_is_pinned_by_its_commit():
    used = re.findall(r"uses: *(.*)", TEXT)
    assert len(used) > 20
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_no_job_has_more_rights_than_it_needs():
    assert WORKFLOW["permissions"] == {}
    assert {
        name: {right for right, access in job["permissions"].items() if access == "write"} for name, job in JOBS.items()
    } == WRITES
    for name, job in JOBS.items():
        assert set(job["permissions"]) == WRITES[name] | {"contents"}, name


def test_the_workflow_uses_no_stored_secret_and_keeps_no_credentials():
    assert re.findall(r"\bsecrets\b(?!\.GITHUB_TOKEN)", re.sub(r"#.*", "", TEXT)) == []
    checkouts = [step for job in JOBS.values() for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert len(checkouts) == len(JOBS)
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_commands_take_values_only_from_variables():
    """An expression within a command would run what a tag's name contains."""
    assert [step["run"] for job in JOBS.values() for step in job["steps"] if "${{" in step.get("run", "")] == []


def test_the_workflow_runs_every_step_of_the_program():
    assert {name for job in JOBS for name in steps_of(job)} == {step.name for step in STEPS}


def test_only_a_pushed_tag_publishes_after_everything_was_built_and_installed():
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}  # YAML 1.1 reads `on` as true
    checks = {step.name for step in STEPS if not step.publishes}
    for job in JOBS:
        if any(step.publishes for step in STEPS if step.name in steps_of(job)):
            before = needed(job)
            assert "github.event_name == 'push'" in [JOBS[each].get("if") for each in {job, *before}], job
            assert checks <= {name for each in {job, *before} for name in steps_of(each)}, job


def test_all_supported_pythons_install_the_wheel():
    assert tuple(JOBS["install"]["strategy"]["matrix"]["python"]) == VERSIONS
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert tuple(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)) == VERSIONS


def test_all_places_have_the_packages_version():
    found = dict(versions(ROOT))
    assert len(found) == 7
    assert set(found.values()) == {rebalance_agent.__version__}


@pytest.mark.parametrize("page", PAGES)
def test_published_pages_have_only_absolute_links(staged, page):
    text = (staged / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]*)\)", text) + re.findall(r"(?:src|href)=\"([^\"]*)\"", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    assert page.startswith(CHART) or f"({ADDRESS.file('docs/')}" in text


def test_the_links_of_a_release_lead_to_files_of_the_repository(staged):
    text = "".join((staged / name).read_text(encoding="utf-8") for name in STAGED)
    paths = re.findall(rf"{ADDRESS.repository}/(?:blob|raw|tree)/v1\.2\.3/([^\s)#\"\\]+)", text)
    assert len(paths) > 100
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_a_packaged_chart_has_what_artifact_hub_shows(staged):
    chart = yaml.safe_load((staged / CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert problems(chart, with_links=True) == []
    assert "registry.example/owner/kafka-rebalance-agent:" in chart["annotations"]["artifacthub.io/images"]
    values = yaml.safe_load((staged / CHART / "values.yaml").read_text(encoding="utf-8"))
    assert values["image"]["registry"] == "registry.example/owner"
    assert "rebalance-agent oci://registry.example/owner/charts/rebalance-agent --version" in (
        staged / CHART / "README.md"
    ).read_text(encoding="utf-8")


def test_pictures_of_the_chart_exist():
    assert [path for path in (ICON, *SCREENSHOTS.values()) if not (ROOT / path).is_file()] == []


def test_without_an_address_nothing_is_invented(tmp_path):
    stage(ROOT, STAGED, tmp_path, None, "")
    for name in STAGED:
        before, after = (folder / name for folder in (ROOT, tmp_path))
        read = yaml.safe_load if name.endswith("Chart.yaml") else str
        assert read(after.read_text(encoding="utf-8")) == read(before.read_text(encoding="utf-8")), name
    assert "[project.urls]" not in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")


def test_words_that_end_with_the_first_release_are_found():
    found = {line.partition(": ")[2] for line in unreleased_words(ROOT)}
    assert found == {word for words in UNRELEASED.values() for word in words}


def test_no_page_shows_a_command_that_works_only_after_a_release():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert [
        str(page) for page in pages if "pip install 'kafka-rebalance-agent" in page.read_text(encoding="utf-8")
    ] == []
