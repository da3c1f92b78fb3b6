"""Bills of materials list the locked packages, and the audit finds known vulnerabilities, with the real tools.

The tools are installed at first use. Without a network these tests are skipped, unless they run in CI.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import threading

import pytest

import rebalance_agent
from supply import locks
from supply.audit import UNANSWERED, VULNERABLE, ask, verdict
from supply.bills import RUNTIME, bill
from supply.programs import INSTALL_SECONDS_MAX, UnavailableError, python

pytestmark = pytest.mark.timeout(2 * INSTALL_SECONDS_MAX + 60)

ASKED = [("pyyaml", "5.3"), ("tzdata", "2026.6")]
ADVISORY = {
    "id": "PYSEC-2020-96",
    "aliases": ["CVE-2020-1747"],
    "summary": "Arbitrary code is run",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "pyyaml", "purl": "pkg:pypi/pyyaml"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "5.3.1"}]}],
        }
    ],
}


@pytest.fixture(scope="module")
def tools():
    try:
        return python()
    except UnavailableError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def directly(monkeypatch):
    """No proxy can reach our own ports."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def database():
    """The address of an OSV API on loopback that knows one vulnerability."""

    class Osv(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps({"vulns": [ADVISORY]} if asked["package"]["name"] == "pyyaml" else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Osv) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.02,))
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()
        serving.join()


@pytest.mark.parametrize("name", locks.names())
def test_locked_packages_have_hashes_and_no_address(name):
    text = (locks.FOLDER / f"{name}.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert len(locks.packages(text)) == len(re.findall(r"^[^\s#]", text, re.MULTILINE)) > 0


@pytest.mark.parametrize("text", ["", "numpy>=2 --hash=sha256:" + 64 * "0", "numpy==2.0", "-r other.lock"])
def test_a_lock_without_pins_is_refused(text):
    with pytest.raises(ValueError, match="a lock has versions with hashes"):
        locks.packages(text)


@pytest.mark.parametrize("name", RUNTIME)
def test_a_bill_contains_every_package_with_version_and_hashes(tools, name):
    content = json.loads(bill(tools, locks.FOLDER / f"{name}.lock", validated=False))
    named = [
        locks.Package(
            each["name"],
            each["version"],
            frozenset(found["content"] for source in each["externalReferences"] for found in source["hashes"]),
        )
        for each in content["components"]
    ]
    assert sorted(named, key=repr) == sorted(locks.locked(name), key=repr)
    assert content["specVersion"] == "1.6"
    of = content["metadata"]["component"]
    assert (of["name"], of["version"]) == ("kafka-rebalance-agent", rebalance_agent.__version__)


def test_the_same_lock_gives_the_same_bill(tools, monkeypatch, tmp_path):
    """It does not contain the addresses of packages."""
    lock = tmp_path / "some.lock"
    lock.write_text((locks.FOLDER / "build.lock").read_text(encoding="utf-8"), encoding="utf-8")
    first = bill(tools, lock, validated=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert bill(tools, lock.rename(tmp_path / "elsewhere" / "other.lock"), validated=False) == first
    assert "mirror.example" not in first


def test_an_unreadable_lock_is_an_error(tools, tmp_path):
    with pytest.raises(RuntimeError, match=r"cyclonedx-py failed on missing\.lock"):
        bill(tools, tmp_path / "missing.lock", validated=False)


def test_the_audit_finds_known_vulnerabilities(tools, database):
    code, lines = verdict(ASKED, ask(tools, ASKED, ["--vulnerability-service=osv", f"--osv-url={database}"]))
    assert code == VULNERABLE
    assert lines[0].startswith("pyyaml 5.3: PYSEC-2020-96 (CVE-2020-1747), fixed in 5.3.1")
    assert lines[1:] == ["audit: 1 of 2 versions have known vulnerabilities"]


def test_an_unreachable_database_is_an_error(tools):
    code, lines = verdict(ASKED, ask(tools, ASKED, ["--vulnerability-service=osv", "--osv-url=http://127.0.0.1:1/"]))
    assert code == UNANSWERED
    assert "no answer for 2 of 2 versions" in lines[0]
    assert "127.0.0.1" in lines[1]
