"""A headless Chromium for tests of pages, controlled with its debugging protocol through a pipe."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import subprocess
import tempfile
from contextlib import contextmanager

import pytest

from rebalance_agent.clock import SystemClock

CHROMIUM = os.environ.get("REBALANCE_AGENT_CHROMIUM")
PATIENCE_S = 60.0
CLOCK = SystemClock()
FLAGS = (
    "--headless",
    "--no-sandbox",  # Chromium has no sandbox when run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)

KEY_CODES = {"Tab": 9, "Enter": 13}
"""Keys that work only if their legacy key code is sent as well."""

needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="REBALANCE_AGENT_CHROMIUM names no browser (see make test)")


@contextmanager
def browser():
    """A Chromium that ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        to_read, to_write = os.pipe(), os.pipe()
        # Move them away from 3 and 4, where Chromium expects the pipe's ends.
        ends = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (to_read[0], to_write[1])]
        process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4, *ends),
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)),  # noqa: PLW1509 - it takes no lock
        )
        for each in (*ends, to_read[0], to_write[1]):
            os.close(each)
        try:
            yield Browser(to_write[0], to_read[1])
        finally:
            os.close(to_read[1])
            process.terminate()
            process.wait(PATIENCE_S)
            os.close(to_write[0])


class Browser:
    """One page at a time. ``problems``: console errors and warnings, exceptions, requests to other servers."""

    def __init__(self, reads, writes):
        self._reads, self._writes = reads, writes
        self._ids = itertools.count(1)
        self._buffer = b""
        self._session = None
        self._loaded = False
        self._own = ("file:", "data:", "about:")
        self.problems = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, url, *, width=1240, height=900, dark=False):
        """Load a page and wait until it is complete. Requests to its own listener are not problems."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._go("about:blank")  # otherwise a change after the # would load nothing
        self.problems = []
        if url.startswith("http:"):
            self._own = (*self._own[:3], "/".join(url.split("/", 3)[:3]) + "/")
        self._go(url)

    def _go(self, url):
        self._loaded = False
        self._call("Page.navigate", url=url)
        deadline = CLOCK.monotonic() + PATIENCE_S
        while not self._loaded:
            self._take(deadline)

    def run(self, script):
        """Return the value of an expression in the page."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key, *, text=""):
        """Press and release a key; ``text`` is the typed text."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            codes = {"windowsVirtualKeyCode": KEY_CODES[key]} if key in KEY_CODES else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, **more, **codes)

    @contextmanager
    def before_scripts(self, script):
        """Run ``script`` before the pages' own scripts, in all pages that are opened in the block."""
        mine = self._call("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        try:
            yield
        finally:
            self._call("Page.removeScriptToEvaluateOnNewDocument", identifier=mine)

    def scripts(self, *, allowed):
        """Set whether pages may run scripts from now on."""
        self._call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def roles(self):
        """(role, name) of all elements in the accessibility tree, in order."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        reported = [each for each in nodes if not each.get("ignored")]
        return [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in reported]

    def picture(self, path, *, clip=None):
        """Write a screenshot as PNG; ``clip``: (left, top, width, height) of the page."""
        more = {}
        if clip:
            more["clip"] = dict(zip(("x", "y", "width", "height"), clip, strict=True), scale=1)
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(clip), **more)["data"]
        path.write_bytes(base64.b64decode(data))

    def _call(self, method, **parameters):
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        deadline = CLOCK.monotonic() + PATIENCE_S
        while True:
            answer = self._take(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _take(self, deadline):
        """Receive the next message; page errors are stored."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reads], [], [], max(0, deadline - CLOCK.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._reads, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method, reported):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(reported["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and reported["type"] in ("error", "warning", "assert"):
            self.problems.append(str(reported["args"]))
        elif method == "Log.entryAdded" and reported["entry"]["level"] in ("error", "warning"):
            self.problems.append(reported["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not reported["request"]["url"].startswith(self._own):
            self.problems.append(f"asked for {reported['request']['url']}")
