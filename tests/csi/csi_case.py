"""Upstream's programs for CSI drivers, which `./run test csi` compiles, and the two halves of the tests' own driver."""

import contextlib
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parent / "images")]
import harness  # noqa: E402

BUILT = harness.TOOLS / "csi"
NODE_HALF = harness.PORTHOLE.parents[1] / "tests/csi_driver"
STAGE, STATS, EXPAND, MULTI_WRITER = "1", "2", "3", "5"


class Programs:
    """Started in a folder, which keeps their logs; ended in the opposite order by a cleanup that is registered here, however late they are started.
    `inside`: what puts a command into a network namespace."""

    def __init__(self, case, folder, inside=lambda words: words):
        self.folder, self.inside = folder, inside
        self.running = case.enterContext(contextlib.ExitStack())

    def start(self, program, *words, name=""):
        """`name`: of its log, where one program runs twice."""
        words = [str(word) for word in (program, *words)]
        log = self.running.enter_context(open(self.folder / f"{name or program.name}.log", "wb"))
        process = subprocess.Popen(self.inside(words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.running.callback(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.terminate()
        process.wait(10)

    def start_driver(self, name, node, registration=""):
        """Both halves over one folder; returns their sockets."""
        storage, sockets = self.folder / "storage", [self.folder / "node.sock", self.folder / "controller.sock"]
        storage.mkdir(mode=0o755)
        self.start(BUILT / "csi-controller", "-endpoint", sockets[1], "-name", name, "-node", node, "-storage", storage)
        words = {"name": name, "node": node, "endpoint": sockets[0], "registration": registration, "storage": storage,
                 "capabilities": ",".join((STAGE, STATS, EXPAND, MULTI_WRITER)), "controller": "elsewhere"}
        self.start(NODE_HALF, *(f"{key}={value}" for key, value in words.items()))
        harness.eventually(lambda: all(socket.exists() for socket in sockets), 10, "the driver listens")
        return sockets

    def log(self, program):
        return (self.folder / f"{program}.log").read_text(errors="replace")[-4000:]
