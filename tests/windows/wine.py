"""Windows programs under Wine, in a network namespace of their own."""

import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WINDOWS = pathlib.Path(os.environ.get("PORTHOLE_WINDOWS", ROOT / "build/windows"))
LINUX = pathlib.Path(os.environ.get("PORTHOLE", ROOT / "build/dev/bin/porthole")).parents[1]
WINE_RUN = ROOT / "cmake/windows/wine_run.sh"


def windows_path(path):
    """How a program under Wine names a file of this machine."""
    return "Z:" + str(path).replace("/", "\\")


class WineTest(unittest.TestCase):
    """Each test has a folder and a network namespace with nothing but loopback."""

    def setUp(self):
        if not (WINDOWS / "bin/porthole.exe").exists():
            self.skipTest("no Windows build: ./run build windows")
        if os.geteuid() != 0:
            self.skipTest("needs root, for a network namespace")
        self.network = f"porthole-wine-{os.getpid()}-{secrets.token_hex(2)}"
        subprocess.run(["ip", "netns", "add", self.network], check=True, timeout=10)
        self.addCleanup(subprocess.run, ["ip", "netns", "delete", self.network], timeout=10)
        subprocess.run(["ip", "-n", self.network, "link", "set", "lo", "up"], check=True, timeout=10)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-wine-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def inside(self, command):
        return ["nsenter", f"--net=/run/netns/{self.network}", *map(str, command)]

    def wine(self, program, *arguments, seconds=120, check=False, stdin="", **environment):
        """Runs a program of the Windows build, or one of Windows' own, to its end."""
        done = subprocess.run(self.inside([WINE_RUN, WINDOWS / program if "/" in program else program, *arguments]), capture_output=True, text=True, timeout=seconds + 30,
                              input=stdin, env=os.environ | environment | {"PORTHOLE_WINE_SECONDS": str(seconds)})
        if check and done.returncode != 0:
            raise AssertionError(f"{program} {' '.join(map(str, arguments))}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, command, log):
        """A Linux program that runs until the test ends."""
        with open(self.folder / log, "w") as output:
            process = subprocess.Popen(self.inside(command), stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def wait_for(self, condition, seconds, what):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"not within {seconds} s: {what}")
            time.sleep(0.1)
