"""A headless Chromium that is driven by the WebDriver protocol, over HTTP, without another package."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
MISSING = "" if DRIVER and BROWSER else "needs the programs chromium and chromedriver (Debian: chromium-driver)"
"""Reason why there is no browser; empty if there is one."""
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"),
    *("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
"""Arguments of the browser: no window, and no connection of its own."""


class Browser:
    """Session of a browser."""

    def __init__(self, base: str) -> None:
        self._base = base
        options = {"binary": BROWSER, "args": list(ARGUMENTS)}
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self._id = self._post("/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    def _post(self, path: str, content: dict[str, Any]) -> Any:
        data = json.dumps(content).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def open(self, path: Path) -> None:
        """Open a page."""
        self._post(f"/session/{self._id}/url", {"url": path.resolve().as_uri()})

    def run(self, script: str) -> Any:
        """Run a script in the page and return what it returns."""
        return self._post(f"/session/{self._id}/execute/sync", {"script": script, "args": []})

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Run a command of the browser's own protocol."""
        return self._post(f"/session/{self._id}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def set_media(self, width: int, *, scheme: str = "light", media: str = "screen") -> None:
        """Choose the width of the window, light or dark colours, and screen or print."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def log(self) -> list[str]:
        """Return the messages of the browser, such as errors of scripts and blocked connections."""
        return [entry["message"] for entry in self._post(f"/session/{self._id}/se/log", {"type": "browser"})]

    def close(self) -> None:
        """End the session."""
        request = urllib.request.Request(f"{self._base}/session/{self._id}", method="DELETE")
        with suppress(OSError):
            urllib.request.urlopen(request, timeout=30).close()


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Start a driver on a free port and a browser, and end both."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert DRIVER is not None
    driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        browser = _connect(f"http://127.0.0.1:{port}")
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.wait(30)


def _connect(base: str) -> Browser:
    """Return a session as soon as the driver listens."""
    for _ in range(100):
        try:
            return Browser(base)
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("chromedriver does not answer")
