"""A program in a pseudo terminal, and what its screen shows: enough of a terminal for programs that draw with absolute positions."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

TOKEN = re.compile(r"\x1b\[([0-9;?]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|\x1b[^\[\]()]|([^\x1b])", re.S)
UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*|\][^\x07]*|[()])?\Z")


class TerminalProgram:
    def __init__(self, command, environment, rows=50, columns=180):
        self.rows, self.columns, self.row, self.column, self.rest = rows, columns, 0, 0, ""
        self.clear()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([str(word) for word in command], stdin=slave, stdout=slave, stderr=slave, env=environment,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]

    def type(self, keys):
        os.write(self.master, keys.encode())

    def shows(self, pattern, seconds=30):
        """The match of a regular expression with the screen, as soon as there is one."""
        return self._until(lambda: re.search(pattern, self.text()), seconds, f"does not show {pattern}")

    def hides(self, pattern, seconds=30):
        self._until(lambda: not re.search(pattern, self.text()), seconds, f"still shows {pattern}")

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def end(self):
        """Ends it where it has not ended, and yields its exit code."""
        if self.process.poll() is None:
            self.process.kill()
        os.close(self.master)
        return self.process.wait(10)

    def _until(self, attempt, seconds, complaint):
        deadline = time.monotonic() + seconds
        while not (found := attempt()):
            if time.monotonic() >= deadline:
                raise AssertionError(f"the screen {complaint}:\n{self.text()}")
            self._read(0.2)
        return found

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return
        try:
            self._draw(os.read(self.master, 1 << 16).decode(errors="replace"))
        except OSError:  # it has ended
            time.sleep(seconds)

    def _draw(self, text):
        text = self.rest + text
        unfinished = UNFINISHED.search(text)
        self.rest, text = (text[unfinished.start():], text[:unfinished.start()]) if unfinished else ("", text)
        for token in TOKEN.finditer(text):
            numbers, command, letter = token.groups()
            if command:
                self._obey(command, [int(number) for number in re.findall(r"\d+", numbers)])
            elif letter:
                self._put(letter)

    def _obey(self, command, numbers):
        if command in "Hf":
            self.row, self.column = (number - 1 for number in (*numbers, 1, 1)[:2])
        elif command == "J":
            self.clear()
        elif command == "n" and numbers == [6]:  # where the cursor is
            os.write(self.master, f"\x1b[{self.row + 1};{self.column + 1}R".encode())

    def _put(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row += 1
        elif letter >= " " and 0 <= self.row < self.rows and 0 <= self.column < self.columns:
            self.cells[self.row][self.column] = letter
            self.column += 1
