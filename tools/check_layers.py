#!/usr/bin/env python3
"""Checks that includes follow the architecture: check_layers.py [--source src] [--layers build/lint/layers.txt]
[--architecture docs/architecture.md].

`layers.txt` is written by CMake, one line per library: "name folder link,link"; beside it `fuzz_layers.txt`, one line per group of
fuzz targets: "name source,source link,link". Refused are
  - an include of a project folder that the including library does not link, directly or through what it links;
  - an include of a folder later in ORDER, or of one of the COMPONENTS by another: these meet only in the API;
  - libraries that link each other in a cycle;
  - units that include each other in a cycle: x.h, x.cc, x_linux.cc and x_windows.cc are one unit, x;
  - folders that include each other in a cycle;
  - a table of folders in architecture.md whose order differs from ORDER.
Tests and fuzz targets may link more than their folder's library, so only ORDER binds them. What a fuzz target includes it must
link all the same: most builds link all targets into one program, which hides what a single one lacks.
"""

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass

import check_report

# Low to high: a folder may include only those before it. docs/architecture.md lists the folders in the same order.
ORDER = ["base", "runtime", "schema", "cel", "net", "store", "netlink", "open_iscsi", "objects", "client", "windows", "hns", "cni",
         "node_network", "apiserver", "controllers",
         "scheduler", "kubelet", "fleet", "proxy", "csi_proxy", "dns", "bundled_images", "winhost", "winservice",
         "node_join", "teardown", "local_cluster", "provision", "cmd"]
COMPONENTS = {"apiserver", "controllers", "scheduler", "kubelet", "proxy", "csi_proxy", "dns"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SOURCE_SUFFIXES = {".h", ".cc"}
TEST_SUFFIXES = ("_test.cc", "_fuzz.cc", "_fixture.h", "_fixture.cc")


@dataclass(frozen=True)
class Library:
    name: str
    folder: str
    links: tuple[str, ...]


class Layers:
    """The libraries of the build, by name and by folder, with what each may use."""

    def __init__(self, text):
        self.libraries = {}
        for line in filter(None, map(str.strip, text.splitlines())):
            name, folder, *links = line.split()
            linked = links[0].split(",") if links else []
            self.libraries[name] = Library(name, folder, tuple(filter(None, linked)))
        self._by_folder = {}
        for library in self.libraries.values():
            self._by_folder.setdefault(library.folder, []).append(library)

    def of_path(self, path):
        """The libraries of the nearest enclosing folder. `path` is relative to the source folder."""
        for folder in pathlib.PurePosixPath(path).parents:
            if str(folder) in self._by_folder:
                return self._by_folder[str(folder)]
        return []

    def usable_by(self, *libraries):
        """Names of what these libraries link, directly or not, and their own."""
        seen, waiting = set(), [library.name for library in libraries]
        while waiting:
            name = waiting.pop()
            if name not in seen and name in self.libraries:
                seen.add(name)
                waiting.extend(self.libraries[name].links)
        return seen

    def link_cycles(self):
        for library in self.libraries.values():
            for link in library.links:
                if link in self.libraries and library.name in self.usable_by(self.libraries[link]):
                    yield f"libraries {library.name} and {link} link each other"


def unit_of(path):
    """What belongs together: "runtime/process_linux.cc" and "runtime/process.h" are "runtime/process"."""
    stem = path.rsplit(".", 1)[0]
    return re.sub(r"_(linux|windows)$", "", stem)


def folder_of(path):
    return path.rsplit("/", 1)[0] if "/" in path else "."


class IncludeGraph:
    """Which nodes (units or folders) include which, and by which include of a file the edge is there."""

    def __init__(self, files, node_of):
        """`files`: of each path (relative to the source folder) the project files that it includes."""
        self._edges = {}
        for path, includes in sorted(files.items()):
            own = self._edges.setdefault(node_of(path), {})
            for included in includes:
                if node_of(included) != node_of(path):
                    own.setdefault(node_of(included), f"{path} includes {included}")

    def cycles(self):
        """One shortest cycle for each set of nodes that reach each other, as the list of its includes."""
        reported = set()
        for start in sorted(self._edges):
            if start in reported:
                continue
            way = self._shortest_way_back(start)
            if way:
                reported |= {node for node, _ in way} | self._reachable_both_ways(start)
                yield [reason for _, reason in way]

    def _shortest_way_back(self, start):
        ways = {start: []}
        waiting = [start]
        for node in waiting:
            for target, reason in sorted(self._edges.get(node, {}).items()):
                if target == start:
                    return ways[node] + [(target, reason)]
                if target not in ways:
                    ways[target] = ways[node] + [(target, reason)]
                    waiting.append(target)
        return None

    def _reachable(self, start):
        seen, waiting = set(), [start]
        while waiting:
            for target in self._edges.get(waiting.pop(), {}):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen

    def _reachable_both_ways(self, start):
        return {node for node in self._reachable(start) if start in self._reachable(node)}


def include_cycles(source, texts):
    files = {path: [name for name in INCLUDE.findall(text) if (source / name).is_file()]
             for path, text in texts.items() if not path.endswith(TEST_SUFFIXES)}
    for what, node_of in (("units", unit_of), ("folders", folder_of)):
        for cycle in IncludeGraph(files, node_of).cycles():
            yield f"{what} include each other: " + "; ".join(cycle)


TABLE_ROW = re.compile(r"^\| `(\w+)/` \|", re.MULTILINE)


def table_problems(architecture):
    """Compares the folders of architecture.md's table with ORDER."""
    rows = TABLE_ROW.findall(architecture)
    if rows != ORDER:
        yield f"docs/architecture.md lists {' '.join(rows)}, but tools/check_layers.py orders {' '.join(ORDER)}"


def order_problem(from_folder, to_folder):
    """Why `from_folder` must not use `to_folder` (both top folders), or None."""
    if from_folder == to_folder:
        return None
    if to_folder == "cmd":
        return "nothing uses cmd"
    if from_folder == "cmd":
        return None
    if {from_folder, to_folder} <= COMPONENTS:
        return f"{from_folder} and {to_folder} meet only in the API"
    for folder in (from_folder, to_folder):
        if folder not in ORDER:
            return f"folder {folder} has no place in the order of tools/check_layers.py"
    if ORDER.index(to_folder) > ORDER.index(from_folder):
        return f"{to_folder} lies above {from_folder}"
    return None


def check_file(path, text, layers, folders):
    """Problems of one file's includes."""
    own = layers.of_path(path)
    usable = layers.usable_by(*own)
    is_test = path.endswith(TEST_SUFFIXES)
    own_folder = path.split("/")[0]
    for match in INCLUDE.finditer(text):
        included = match.group(1)
        folder = included.split("/")[0]
        if "/" not in included or folder not in folders:
            continue
        line = text.count("\n", 0, match.start(1)) + 1
        problem = order_problem(own_folder, folder)
        if not problem and not is_test:
            targets = [library.name for library in layers.of_path(included)]
            if own and targets and not usable.intersection(targets):
                problem = f"{own[0].name} does not link {targets[0]}"
        if problem:
            yield f'{path}:{line}: include of "{included}": {problem}'


def check(source, layers):
    folders = {entry.name for entry in source.iterdir() if entry.is_dir()}
    problems = list(layers.link_cycles())
    texts = {path.relative_to(source).as_posix(): path.read_text()
             for path in sorted(source.rglob("*")) if path.suffix in SOURCE_SUFFIXES}
    for path, text in texts.items():
        problems += check_file(path, text, layers, folders)
    return problems + list(include_cycles(source, texts))


def fuzz_problems(root, fuzz_layers, layers):
    """Includes of fuzz targets that they do not link. `root`: the folder that holds src and the targets' sources."""
    for line in filter(None, map(str.strip, fuzz_layers.splitlines())):
        name, paths, links = line.split()
        usable = layers.usable_by(*(layers.libraries[link] for link in links.split(",") if link in layers.libraries))
        waiting = [root / path for path in paths.split(",")]
        for path in waiting:
            for included in INCLUDE.findall(path.read_text()):
                beside = path.parent / included
                targets = [library.name for library in layers.of_path(included)]
                if beside.is_file() and beside not in waiting:
                    waiting.append(beside)
                elif targets and not usable.intersection(targets):
                    yield f'{name}: include of "{included}" by {path.name}: the fuzz target does not link {targets[0]}'


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    arguments = argparse.ArgumentParser(description="checks that includes follow the architecture")
    arguments.add_argument("--source", type=pathlib.Path, default=root / "src")
    arguments.add_argument("--layers", type=pathlib.Path, default=root / "build/lint/layers.txt")
    arguments.add_argument("--architecture", type=pathlib.Path, default=root / "docs/architecture.md")
    options = arguments.parse_args()
    if not options.layers.exists():
        sys.exit(f"check_layers: {options.layers} is missing: run cmake --preset lint, or give --layers another build folder's layers.txt")
    layers = Layers(options.layers.read_text())
    problems = check(options.source, layers)
    problems += fuzz_problems(options.source.parent, options.layers.with_name("fuzz_layers.txt").read_text(), layers)
    problems += table_problems(options.architecture.read_text())
    check_report.report(f"src/{problem}" if "/" in problem.split()[0] else problem for problem in problems)


if __name__ == "__main__":
    main()
