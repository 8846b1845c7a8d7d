"""Terminals of containers on a Windows node. The judge is kubectl; the node is emulated, its kubelet.exe runs under Wine."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
import unittest

from test_streams import Screen
from test_windows_node import windows_pod
from windows_probe_case import PROBE, ProbeCase

CONTROL = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")  # of a terminal


class Terminals(ProbeCase):
    @contextlib.contextmanager
    def terminal(self, rows, columns, *words):
        """kubectl at a terminal of its own, whose size can change."""
        own, theirs = pty.openpty()
        resize(own, rows, columns)
        command = self.cluster.kubectl_command(self.client, "-n", self.namespace, *words)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        process = subprocess.Popen(command, env={**self.cluster.environment(), "TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs,
                                   preexec_fn=take_terminal)
        os.close(theirs)
        try:
            yield Screen(own), own, process
        finally:
            process.kill()
            process.wait(120)
            os.close(own)

    def shows(self, screen, text, seconds=30, keys=""):
        """Waits for `text`; types `keys` while it is not there."""
        def shown():
            screen.read()
            if text in CONTROL.sub("", screen.text):
                return True
            screen.write(keys)
            time.sleep(0.5)
            raise AssertionError(repr(screen.text))
        self.eventually(shown, seconds, repr(text))

    # POD-19
    def test_exec_at_a_terminal_follows_its_size(self):
        self.apply(self.probe("box", "wait"))
        self.wait_ready("box")
        with self.terminal(33, 111, "exec", "-it", "box", "--", PROBE, "console") as (screen, file, _):
            self.shows(screen, "console=111x33")
            resize(file, 30, 90)
            self.shows(screen, "console=90x30")

    # POD-19
    def test_exec_of_a_shell_at_a_terminal(self):
        self.apply(self.probe("box", "wait"))
        self.wait_ready("box")
        with self.terminal(25, 80, "exec", "-it", "box", "--", "cmd") as (screen, _, process):
            self.shows(screen, "C:\\")
            screen.write("echo system=%OS%\r")
            self.shows(screen, "system=Windows_NT")
            screen.write("exit 3\r")
            self.eventually(lambda: screen.read() and process.poll() is not None, 20, "the shell ended")
            self.assertEqual(process.returncode, 3)

    # POD-19
    def test_attach_to_an_interactive_container(self):
        self.apply(windows_pod("shell", ["cmd"], container_fields={"stdin": True, "tty": True}))
        self.wait_ready("shell")
        with self.terminal(25, 80, "attach", "-it", "shell") as (screen, _, process):
            self.shows(screen, ">", keys="\r")
            screen.write("echo attached=%OS%\r")
            self.shows(screen, "attached=Windows_NT")


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


if __name__ == "__main__":
    unittest.main()
