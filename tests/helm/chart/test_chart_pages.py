"""The messages in docs/operate.md, docs/troubleshooting.md and docs/inject-a-sidecar.md are the real ones."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from rebalance_agent.cli.main import main
from support.helm.chart import EVERYTHING, HelmError, helm, one
from support.helm.rendered import CHART

ROOT = Path(__file__).parents[3]
OPERATE, TROUBLES, INJECT = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("operate", "troubleshooting", "inject-a-sidecar")
)

OBSERVER = "rebalance-agent observe: "


def shown(page):
    """Each command of the page's consoles with its output."""
    for block in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, answer = each.partition("\n")
            yield command, answer.strip()


def answers(page, start):
    return [each for each in shown(page) if each[0].startswith(start)]


def first_column(page, header):
    """Cells without the backticks."""
    table = page.partition(f"| {header} |")[2].partition("\n\n")[0]
    return [line.split(" | ")[0].strip("| `") for line in table.splitlines()[2:]]


def refused(*arguments):
    """Helm's error in one line, because a page breaks lines differently."""
    with pytest.raises(HelmError) as error:
        helm("template", "rebalance-agent", ROOT / "helm" / "rebalance-agent", *arguments)
    return " ".join(str(error.value).split())


def test_the_output_of_an_installation_is_documented(tmp_path):
    """Without a cluster Helm renders no notes, so a copy of the chart renders them as an object."""
    copy = shutil.copytree(CHART, tmp_path / CHART.name)
    (copy / "templates" / "NOTES.txt").rename(copy / "files" / "NOTES.txt")
    reported = """{kind: Reported, reported: {{ tpl (.Files.Get "files/NOTES.txt") . | toJson }}}"""
    (copy / "templates" / "reported.yaml").write_text(reported)
    command = OPERATE[OPERATE.index("helm install ") :].partition("\nkubectl ")[0].replace("\\\n", "")
    _, _, name, _, *given = (each for each in shlex.split(command) if each not in ("--create-namespace", "--wait"))
    cluster = (*EVERYTHING, "--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")
    text = helm("template", name, copy, *given, *cluster, "--show-only", "templates/reported.yaml")
    assert one("Reported", text)["reported"].strip() in OPERATE


@pytest.mark.parametrize(("command", "answer"), answers(TROUBLES, "helm template"))
def test_the_message_for_a_refused_value_is_documented(command, answer, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(HelmError) as error:
        helm(*shlex.split(command)[1:])
    assert str(error.value).strip() == answer


def test_messages_for_refused_values_are_documented():
    assert len(answers(TROUBLES, "helm template")) >= 2


def test_messages_for_inconsistent_values_are_documented():
    cells = first_column(TROUBLES, "the message ends with | reason")
    given = ["observer.events.enabled=true", "pipeline.enabled=true", "injection.enabled=true"]
    for cell, values in zip(cells, given, strict=True):
        assert cell.removesuffix(" ...") in refused("--set", values, "--kube-version", "1.33.1")


def test_the_message_for_an_api_server_without_injection_is_documented():
    (block,) = re.findall(r"^```text\nError: INSTALLATION FAILED: (.*?)^```", INJECT, re.DOTALL | re.MULTILINE)
    assert " ".join(block.split()) in refused("--set", "injection.enabled=true", "--kube-version", "1.33.1")


def test_the_message_for_an_unknown_parameter_is_documented():
    (block,) = re.findall(r"^```text\n(Error: values .*?)^```", INJECT, re.DOTALL | re.MULTILINE)
    assert refused("--set", "injection.parameters.loglevel=debug") == " ".join(block.split())


def test_messages_of_settings_that_prevent_the_observers_start_are_documented(tmp_path, capsys):
    wrong = {"settle_second": "5", "kafka": "{bootstrap.servers: 'kafka:99999'}", "groups_deny": "'['"}
    cells = [each for each in first_column(TROUBLES, "last line of the log | what to do") if each.startswith(OBSERVER)]
    for cell, (name, value) in zip(cells, wrong.items(), strict=True):
        path = tmp_path / "settings.yaml"
        path.write_text(f"{name}: {value}\n")
        assert main(["observe", "--config", str(path)]) == 2
        assert capsys.readouterr().err.strip() == cell


def test_the_message_for_unreachable_brokers_is_documented(capsys):
    ((command, answer),) = answers(TROUBLES, "rebalance-agent check --bootstrap-servers")
    assert main(shlex.split(command)[1:]) == 2
    own = "ok       listen"  # a port that other programs of this machine may use
    reported, written = (
        [line for line in text.splitlines() if not line.startswith(own)]
        for text in (capsys.readouterr().out.strip(), answer)
    )
    assert reported[:-1] == written[:-1]


def mebibytes(name, text):
    return [int(number) for number in re.findall(rf"{name}: (\d+)Mi", text)]


def test_documented_sizes_are_sufficient_and_the_default_is_the_charts():
    rows = OPERATE.partition("| consumer groups |")[2].partition("\n\n")[0].splitlines()[2:]
    peaks = [int(re.findall(r"(\d+)\*? MiB", row)[-1]) for row in rows]
    chosen = [(*mebibytes("requests.memory", row), *mebibytes("limits.memory", row)) or "the default" for row in rows]
    default = next(each for row, each in zip(rows, chosen, strict=True) if "the default: " in row)
    resources = yaml.safe_load((ROOT / "helm" / "rebalance-agent" / "values.yaml").read_text())["observer"]["resources"]
    assert [resources[each]["memory"] for each in ("requests", "limits")] == [f"{each}Mi" for each in default]
    for peak, each in zip(peaks, chosen, strict=True):
        request, limit = default if each == "the default" else each
        assert peak <= request
        assert 2 * peak <= limit
