#!/usr/bin/env python3
"""Checks that every header under src/ compiles alone: check_headers.py [--build build/lint] [--jobs 2].

Those of Windows (*_windows.h) are left to its own build, where each is the first include of its source.
With --precompiled FILE, the headers that FILE includes are read once and count as included everywhere: four times as fast, and only a
missing include of one of those goes unseen. Flags of the others come from the compile commands of the header's own folder. A header is
compiled again only when it, one of the headers it includes, or its flags changed; what is known is kept in BUILD/header_check.json.
With --part K/N, one Nth of the headers by a hash of their paths, K from 0, and those that the last 20 commits touched.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

KEPT_FLAGS = ("-I", "-D", "-std", "-W", "-f")
OF_ONE_SOURCE = "-DPORTHOLE_EMBEDDED="  # the hash of the files that a source embeds: no two sources have the same
KEPT_WITH_VALUE = ("-isystem",)


class CompileFlags:
    """The flags of the sources of each folder; a folder without sources gets its parent's, at last everyone's."""

    def __init__(self, commands):
        self._of_folder = {}
        self._all = {}
        for command in commands:
            folder = pathlib.Path(command["file"]).parent
            flags = self._of_folder.setdefault(folder, {})
            words = shlex.split(command["command"]) if "command" in command else command["arguments"]
            for flag in select_flags(words):
                flags[flag] = self._all[flag] = None

    def common(self):
        """What every source is compiled with, but for folders and definitions."""
        return [word for word in flatten(self._all) if word.startswith(("-std", "-W", "-f"))]

    def of(self, header):
        for folder in header.parents:
            if folder in self._of_folder:
                return flatten(self._of_folder[folder])
        return flatten(self._all)


def select_flags(words):
    """What decides how a header parses, as tuples of one or two words, in order."""
    position = 0
    while position < len(words):
        word = words[position]
        if word in KEPT_WITH_VALUE:
            yield (word, words[position + 1])
            position += 1
        elif word.startswith(KEPT_FLAGS) and not word.startswith(("-fsanitize", OF_ONE_SOURCE)):
            yield (word,)
        position += 1


def flatten(flags):
    return [word for flag in flags for word in flag]


def hash_of(path, known={}):
    """Content hash; None when the file is gone. Remembered, since many headers share what they include."""
    if path not in known:
        try:
            known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        except OSError:
            known[path] = None
    return known[path]


def is_known_good(entry, flags):
    return bool(entry) and entry["flags"] == flags and all(hash_of(path) == digest for path, digest in entry["files"].items())


def compile_alone(compiler, header, flags):
    """(error text or None, hashes of the header and everything it includes)."""
    with tempfile.TemporaryDirectory() as folder:  # the compiler removes the dependency file itself when it fails
        dependencies = pathlib.Path(folder, "header.d")
        done = subprocess.run(
            [compiler, *flags, "-fsyntax-only", "-Wno-pragma-once-outside-header", "-MD", "-MF", dependencies,
             "-x", "c++-header", str(header)],
            capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip() or f"compiler ended with {done.returncode}", {}
        return None, {path: hash_of(path) for path in read_dependencies(dependencies.read_text())}


def precompile(compiler, header, flags, output):
    """The flags that put the precompiled `header` before a compilation; none without a header."""
    if header is None:
        return []
    subprocess.run([compiler, *flags, "-Wno-pragma-once-outside-header", "-x", "c++-header", str(header), "-o", str(output)], check=True)
    return ["-include-pch", str(output)]


def read_dependencies(text):
    """Paths of a make rule "target: path path \\ path", project files only: what the system ships does not change."""
    words = shlex.split(text.replace("\\\n", " "))
    return [word for word in words if not word.endswith(":") and not word.startswith(("/usr/include", "/usr/lib"))]


def parse_part(text):
    """(K, N) of "K/N"."""
    part, parts = map(int, text.split("/"))
    if not 0 <= part < parts:
        raise ValueError(text)
    return part, parts


def select_part(headers, source, part, parts, recent):
    """Those whose path below `source` hashes to `part`, and those that are `recent`."""
    def part_of(header):
        return hashlib.sha256(str(header.relative_to(source)).encode()).digest()[0] % parts
    return [header for header in headers if header in recent or part_of(header) == part]


def recently_touched(root):
    """Paths that the last 20 commits touched; none without a history."""
    done = subprocess.run(["git", "-C", root, "log", "-20", "--name-only", "--format=", "--", "*.h"], capture_output=True, text=True)
    return {pathlib.Path(root, line).resolve() for line in done.stdout.splitlines() if line}


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    arguments = argparse.ArgumentParser(description="checks that every header compiles alone")
    arguments.add_argument("--source", type=pathlib.Path, default=root / "src")
    arguments.add_argument("--build", type=pathlib.Path, default=root / "build/lint")
    arguments.add_argument("--compiler", default="clang++-19")
    arguments.add_argument("--precompiled", type=pathlib.Path, help="a header whose includes count as included everywhere")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--part", type=parse_part, metavar="K/N", help="one Nth of the headers and those that changed lately")
    options = arguments.parse_args()

    commands = options.build / "compile_commands.json"
    if not commands.exists():
        sys.exit(f"check_headers: {commands} is missing: configure first, for example with ./run test checks")
    flags = CompileFlags(json.loads(commands.read_text()))
    cache_file = options.build / "header_check.json"
    cache = json.loads(cache_file.read_text()) if cache_file.exists() else {}

    source = options.source.resolve()
    headers = sorted(header for header in source.rglob("*.h") if not header.name.endswith("_windows.h"))
    chosen = headers if options.part is None else select_part(headers, source, *options.part, recently_touched(source.parent))
    stale = [header for header in chosen if not is_known_good(cache.get(str(header)), flags.of(header))]
    failures = 0
    before = precompile(options.compiler, options.precompiled, flags.common(), options.build / "headers.pch") if stale else []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda header: compile_alone(options.compiler, header, [*flags.of(header), *before]), stale)
        for header, (error, files) in zip(stale, results):
            if error:
                failures += 1
                cache.pop(str(header), None)
                print(f"{header.relative_to(source.parent)} does not compile alone:\n{error}\n")
            else:
                cache[str(header)] = {"flags": flags.of(header), "files": files}
    present = {str(header) for header in headers}
    cache_file.write_text(json.dumps({path: entry for path, entry in cache.items() if path in present}))
    print(f"{len(chosen)} headers, {len(stale)} compiled, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
