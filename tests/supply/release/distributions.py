"""Wheel and source distribution: builds them, checks what PyPI would show, and installs the wheel."""

from __future__ import annotations

import email
import email.policy
import json
import shutil
import sys
import tarfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

from docs.developers.site.built_links import Page

from supply.bills import write_bills
from supply.programs import python
from supply.release.interpreters import VERSIONS, interpreter
from supply.release.run_steps import StepError
from supply.release.settings import NOT_SET, ROOT, Release

WHEEL, SOURCE = "*.whl", "*.tar.gz"


def build(release: Release) -> str:
    """Build the source distribution, and the wheel from it, with the locked tools and the time of the last commit."""
    time = release.run("git", "log", "-1", "--format=%ct", folder=ROOT).strip()
    made = release.scratch / "built"
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", made, release.staged)
    release.run(*command, SOURCE_DATE_EPOCH=time)
    for old in (*release.folder.glob(WHEEL), *release.folder.glob(SOURCE)):
        old.unlink()
    files = [shutil.move(path, release.folder) for path in sorted(made.iterdir())]
    return ", ".join(f"{Path(path).name} ({Path(path).stat().st_size:,} bytes)" for path in files)


def check_metadata(release: Release) -> str:
    """Check the description and the links that PyPI shows, with PyPI's own renderer."""
    wheel, source = release.built(WHEEL), release.built(SOURCE)
    release.run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", wheel, source)
    of_wheel, of_source = wheel_metadata(wheel), source_metadata(source)
    if of_wheel.get_payload() != of_source.get_payload():
        raise StepError("wheel and source have different descriptions")
    if release.address is None:
        return f"twine check --strict; links stay relative: {NOT_SET}"
    if lost := relative_addresses(of_wheel.get_payload()):
        raise StepError(f"the description has relative links: {', '.join(lost[:5])}")
    links = of_wheel.get_all("Project-URL") or []
    if not links or not all(release.address.repository in link for link in links):
        raise StepError(f"the project's links are not those of {release.address.repository}: {links}")
    return f"twine check --strict; {len(links)} links of the project, all links of the description are absolute"


def wheel_metadata(wheel: Path) -> EmailMessage:
    """The metadata of a wheel; the payload is the description."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return _message(archive.read(name))


def source_metadata(source: Path) -> EmailMessage:
    """The metadata of a source distribution; the payload is the description."""
    with tarfile.open(source) as archive:
        (member,) = (
            each for each in archive.getmembers() if each.name.count("/") == 1 and each.name.endswith("PKG-INFO")
        )
        return _message(archive.extractfile(member).read())


def _message(content: bytes) -> EmailMessage:
    return email.message_from_string(content.decode(), policy=email.policy.compat32)


def relative_addresses(description: str) -> list[str]:
    """The links and pictures of a description, as PyPI renders it, that lead neither to an address nor to its heading.

    Raises:
        StepError: PyPI could not render it.

    """
    from readme_renderer import markdown  # noqa: PLC0415 - only the environment of requirements/release.lock has it

    rendered = markdown.render(description)
    if rendered is None:
        raise StepError("the description cannot be rendered")
    page = Page(rendered)
    headings = {f"#{each}" for each in page.ids}  # PyPI adds a link to each heading
    return sorted(each for each in page.addresses - headings if not each.startswith(("https://", "http://")))


def install(release: Release) -> str:
    """Install the wheel alone, then with the extra ``agent``, for each Python, and run commands of both."""
    wheel = release.built(WHEEL)
    found = {version: interpreter(version, release.environment) for version in release.pythons or VERSIONS}
    missing = [version for version, path in found.items() if path is None]
    if release.pythons and missing:
        raise StepError(f"Python {', '.join(missing)} was not found")
    ran = [_install(release, wheel, version, path) for version, path in found.items() if path]
    if not ran:
        raise StepError(f"no Python of {', '.join(missing)} was found")
    rest = f"; not found, only in the workflow: Python {', '.join(missing)}" if missing else ""
    return f"on Python {', '.join(ran)}{rest}"


def _install(release: Release, wheel: Path, version: str, path: str) -> str:
    """Install and run the wheel in a new environment; return the exact version of Python."""
    environment = release.scratch / f"python{version}"
    installed = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", installed, "install", "--quiet")
    release.say(f"  Python {version}: the wheel alone ...")
    release.run(path, "-I", "-m", "venv", "--without-pip", environment)
    release.run(*pip, "--no-index", "--no-deps", wheel)
    command = environment / "bin" / "rebalance-agent"
    if not json.loads(release.run(command, "strategies", "--json")):
        raise StepError(f"Python {version}: rebalance-agent strategies lists nothing")
    release.say(f"  Python {version}: with the extra agent ...")
    release.run(*pip, "--only-binary", ":all:", f"{wheel}[agent]")
    release.run(command, "observe", "--help")
    code = "import platform, rebalance_agent; print(platform.python_version(), rebalance_agent.__file__)"
    exact, _, imported = release.run(installed, "-I", "-c", code).strip().partition(" ")
    if not Path(imported).is_relative_to(environment):
        raise StepError(f"Python {version} imports {imported} and not the installed wheel")
    shutil.rmtree(environment)
    return exact


def write_sboms(release: Release) -> str:
    """Write the bills of materials of the images, validated with CycloneDX's schema."""
    return ", ".join(path.name for path in write_bills(python(), release.folder))
