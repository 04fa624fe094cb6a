"""A headless Chromium, spoken to in its own protocol (CDP) over a WebSocket."""

import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

from websockets.sync.client import connect

# Nothing of it may look for a network, since nothing of a report does.
FLAGS = [
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-port=0",
]
START_SECONDS = 60
ANSWER_SECONDS = 60


class Chromium:
    """One browser with one page."""

    def __init__(self):
        program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "there is no chromium"
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # Chromium's sandbox does not work for root; what it opens here is ours.
        flags = FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])
        self.process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={self.profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.last, self.session, self.events = 0, None, []
        try:
            self.socket = connect(self._address(), max_size=None, open_timeout=START_SECONDS)
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self.session = attached["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log", "Audits"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.stop()
            raise

    def _address(self):
        told = pathlib.Path(self.profile.name) / "DevToolsActivePort"
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            assert self.process.poll() is None, "chromium ended"
            lines = told.read_text().split("\n") if told.exists() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.05)
        raise AssertionError("chromium did not start")

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv(timeout=ANSWER_SECONDS))
            if answer.get("id") == self.last:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1200, scheme="light", media=""):
        """Opens a file; the events are of it alone."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.events = []
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        until = time.monotonic() + ANSWER_SECONDS
        while not self.of("Page.loadEventFired"):
            assert time.monotonic() < until, "the page did not load"
            self.js("0")

    def of(self, *methods):
        return [event["params"] for event in self.events if event.get("method") in methods]

    def js(self, expression):
        """What an expression is worth, asked from outside: the page itself runs nothing."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path=None, **clip):
        options = {"captureBeyondViewport": True}
        if clip:
            options["clip"] = {**clip, "scale": 1}
        png = base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])
        if path:
            pathlib.Path(path).write_bytes(png)
        return png

    def colour(self, x, y):
        """The colour that is painted at a place of the page."""
        png = self.screenshot(x=x, y=y, width=1, height=1)
        at, data = 8, b""
        while at < len(png):
            length, kind = struct.unpack(">I4s", png[at : at + 8])
            if kind == b"IDAT":
                data += png[at + 8 : at + 8 + length]
            at += 12 + length
        # One pixel: the filter's byte, which has nothing before it to add, then the colour.
        return tuple(zlib.decompress(data)[1:4])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def stop(self):
        if hasattr(self, "socket"):
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()
