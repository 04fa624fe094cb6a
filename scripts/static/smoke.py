"""Starts a gateway with the built-in echo provider, asks it whether it lives and is ready, and ends it.
Called by scripts/static.sh with the program's path; needs no rights of any kind."""

import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

CONFIG = """
config_version = 1
listen = "127.0.0.1:0"
admin_listen = "127.0.0.1:0"
[[provider]]
name = "echo"
protocol = "echo"
"""


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "gatehouse.toml"
        config.write_text(CONFIG)
        subprocess.run([program, "check", config], check=True, env={}, stdout=subprocess.DEVNULL)
        up = [program, "up", "--no-model", "--config", config, "--data", f"{folder}/data"]
        gateway = subprocess.Popen(up, env={}, stdout=subprocess.PIPE, text=True)
        try:
            first = gateway.stdout.readline()
            admin = re.search(r"metrics on http://(\S+)", first)[1]
            with urllib.request.urlopen(f"http://{admin}/healthz", timeout=10) as answer:
                assert answer.read() == b"ok\n"
            subprocess.run([program, "health", "--admin", admin], check=True, env={})
            gateway.terminate()
            assert gateway.wait(timeout=60) == 0, "the gateway ended in order"
        finally:
            gateway.kill()
            gateway.wait()
        asked = subprocess.run([program, "health", "--admin", admin], env={}, capture_output=True)
        assert asked.returncode == 1, asked
    print("it checks, starts, answers, is ready and ends on SIGTERM")


main(sys.argv[1])
