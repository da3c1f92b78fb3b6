"""The chart passes Helm's checks with every example, its suites, and the schemas of the rendered resources."""

import subprocess

import pytest
import yaml
from dashboards.boards import FOLDER

from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load
from support.cluster.kube_tools import kubernetes_schemas, operator_definitions, program, spark_definitions
from support.helm.chart import EVERYTHING, helm, one, template
from support.helm.kube_schemas import LOCATION, write_schemas
from support.helm.rendered import CHART, EXAMPLES, SPARK, chosen, example_name, objects

examples = pytest.mark.parametrize("example", EXAMPLES, ids=example_name)
INJECTION = ("--set", "injection.apiVersion=admissionregistration.k8s.io/v1beta1")


@examples
def test_lint_reports_no_problem(example):
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, *chosen(example), *INJECTION)


def test_the_suites_pass():
    done = subprocess.run([program("helm-unittest"), "--strict", CHART], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def schemas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemas")
    write_schemas(folder, kubernetes_schemas(), operator_definitions(), spark_definitions())
    return folder


@pytest.fixture
def conform(schemas):
    """kubeconform's output for a rendered text, and whether it accepts the text."""

    def conform(text):
        kubeconform = [program("kubeconform"), "-summary", "-schema-location", f"{schemas}/{LOCATION}", "-"]
        done = subprocess.run(kubeconform, input=text, capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stdout

    return conform


@examples
def test_every_field_is_defined_by_kubernetes_or_the_operator(conform, example):
    text = template(None, *EVERYTHING, *INJECTION, *chosen(example))
    valid, said = conform(text)
    assert valid, said
    assert f"{len(objects(text))} resources found" in said


@pytest.mark.parametrize(
    ("values", "field"), [({}, "automountServiceAccountToken"), (SPARK, "podSecurityContext"), (SPARK, "schedule")]
)
def test_an_undefined_field_is_detected(conform, values, field):
    text = template(values, *EVERYTHING)
    assert conform(text)[0]
    valid, said = conform(text.replace(f" {field}:", f" {field}s:"))
    assert not valid
    assert f"{field}s" in said


@examples
def test_the_same_values_give_the_same_text(example):
    once, again = (template(None, *EVERYTHING, *INJECTION, *chosen(example)) for _ in range(2))
    assert once == again


@examples
def test_the_agent_accepts_the_settings(tmp_path, example):
    rendered = objects(template(None, *INJECTION, *chosen(example)))
    found = [each["data"]["settings.yaml"] for each in rendered if "settings.yaml" in each.get("data", {})]
    assert len(found) == sum(each["kind"] == "Deployment" for each in rendered)
    for text in found:
        settings = tmp_path / "settings.yaml"
        settings.write_text(text)
        load(ObserverSettings, str(settings), {})


def test_pods_restart_only_when_their_own_settings_change():
    def checksum(values):
        return one("Deployment", template(values))["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]

    assert checksum({}) == checksum({"monitoring": {"enabled": True}})
    assert checksum({}) != checksum({"observer": {"settings": {"settle_seconds": 7}}})
    assert checksum({}) != checksum({"kafka": {"bootstrapServers": "kafka:9092"}})


def test_boards_are_rendered_unchanged():
    rendered = objects(template({"monitoring": {"enabled": True}}))
    boards = {name: text for each in rendered if each["kind"] == "ConfigMap" for name, text in each["data"].items()}
    for path in FOLDER.glob("*.json"):
        assert boards[path.name] == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["CronJob", "SparkApplication"])
def test_every_object_has_the_standard_labels(kind):
    values = {
        "commonLabels": {"team": "a"},
        "commonAnnotations": {"note": "b"},
        "kafka": {"bootstrapServers": "kafka:9092"},
        "monitoring": {"enabled": True},
        "observer": {"replicas": 2, "networkPolicy": {"enabled": True}},
        "pipeline": {"enabled": True, "kind": kind, "sparkApplication": {"image": "spark:1"}},
    }
    rendered = objects(template(values, *EVERYTHING))
    assert len(rendered) > 15
    for each in rendered:
        about = each["metadata"]
        assert about["name"].startswith("watch-rebalance-agent")
        assert about["namespace"] == "kafka", about["name"]
        assert about["annotations"]["note"] == "b", about["name"]
        assert (
            about["labels"].items()
            >= {
                "app.kubernetes.io/instance": "watch",
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/name": "rebalance-agent",
                "team": "a",
            }.items()
        )
    components = {each["kind"]: each["metadata"]["labels"].get("app.kubernetes.io/component") for each in rendered}
    assert components["Deployment"] == components["Service"] == components["NetworkPolicy"] == "observer"
    assert components["PodDisruptionBudget"] == "observer"
    assert components["PersistentVolumeClaim"] == "pipeline"
    assert components["CronJob" if kind == "CronJob" else "ScheduledSparkApplication"] == "pipeline"
    assert components["Job"] == "test"


def test_selectors_match_their_pods():
    values = {"observer": {"replicas": 2, "networkPolicy": {"enabled": True}}, "monitoring": {"enabled": True}}
    text = template(values, *EVERYTHING)
    deployment, service = one("Deployment", text), one("Service", text)
    selected = deployment["spec"]["selector"]["matchLabels"]
    assert len(selected) == 3
    assert deployment["spec"]["template"]["metadata"]["labels"].items() >= selected.items()
    assert service["spec"]["selector"] == selected
    assert one("PodDisruptionBudget", text)["spec"]["selector"]["matchLabels"] == selected
    assert one("NetworkPolicy", text)["spec"]["podSelector"]["matchLabels"] == selected
    monitor = one("ServiceMonitor", text)["spec"]
    assert monitor["selector"]["matchLabels"] == selected
    assert service["metadata"]["labels"].items() >= selected.items()
    assert monitor["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_the_chart_works_as_a_dependency_with_the_same_values(tmp_path):
    parent = tmp_path / "parent"
    (parent / "charts").mkdir(parents=True)
    (parent / "charts" / CHART.name).symlink_to(CHART)
    about = {"apiVersion": "v2", "name": "parent", "version": "1.0.0"}
    (parent / "Chart.yaml").write_text(yaml.safe_dump(about))
    values = {"global": {"a": "b"}, CHART.name: {"observer": {"replicas": 2}}}
    (parent / "values.yaml").write_text(yaml.safe_dump(values))
    assert one("Deployment", helm("template", "watch", parent))["spec"]["replicas"] == 2
