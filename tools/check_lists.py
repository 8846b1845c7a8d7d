#!/usr/bin/env python3
"""Checks that the lists of the tree are complete: check_lists.py [--source src].

A new thing is one file and one line in a list. Forgetting the line compiles, so this refuses
  - a .cc file that no CMakeLists.txt of its folder, or of a folder above, names (by itself, by a pattern, or as a test);
  - a function or class that a LIST declares and its list does not name;
  - a line of a .def list that is there twice;
  - a file of the schema text that api/order does not name;
  - an order of folders in docs/architecture.md that is not the one of check_layers.py.
"""

import argparse
import fnmatch
import pathlib
import re
from collections import Counter
from dataclasses import dataclass

import check_layers
import check_report

NAMED_BY_TARGET = re.compile(r"porthole_(?:test|fuzz)\(\s*(\w+)")
NOT_BY_PATTERN = re.compile(r"_(test|fuzz|fixture)\.cc$")  # as in porthole_expand of cmake/porthole.cmake


@dataclass(frozen=True)
class List:
    """What files matching `declared_in` declare (group 1 of `declaration`) is named in one of the files `listed_in`."""

    what: str
    declared_in: str
    declaration: str
    listed_in: tuple[str, ...]


LISTS = [
    List("kind", "apiserver/kinds/**/*.cc", r"^Strategy (\w+)_strategy\(\)", ("apiserver/kinds/kinds.def",)),
    List("admission plugin", "apiserver/admission/**/*.cc", r"^(?:Result<)?AdmissionPluginPtr>? make_(\w+)\(", ("apiserver/admission/plugins.def",)),
    List("controller", "controllers/**/*.cc", r"^Result<ControllerPtr> make_(\w+)\(Context&", ("controllers/controllers.def",)),
    List("scheduler plugin", "scheduler/plugins/*.cc", r"^std::unique_ptr<Plugin> make_(\w+)\(const Handle&", ("scheduler/plugins/plugins.def",)),
    List("volume plugin", "kubelet/volumes/*/*.cc", r"^std::unique_ptr<VolumePlugin> make_(\w+)\(\)", ("kubelet/volumes/plugins.def",)),
    List("check of porthole doctor", "cmd/doctor/checks/*.cc", r"^void check_(\w+)\(const Evidence&", ("cmd/doctor/checks.def",)),
    List("check of a node", "cmd/doctor/node/checks/*.cc", r"^void check_node_(\w+)\(const NodeEvidence&", ("cmd/doctor/node/node_checks.def",)),
    List("area of self-check", "cmd/self_check/areas/*.cc", r"^Area area_(\w+)\(\)", ("cmd/self_check/areas.def",)),
    List("command", "cmd/**/*.cc", r"^int (run_\w+)\(std::vector<std::string>", ("cmd/commands.def", "cmd/windows/roles.def")),
]


def names_of(text):
    """(words, patterns) of a CMakeLists.txt: every file that it names, and every pattern with a `*`."""
    text = re.sub(r"#.*", "", text).replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
    words = set(re.split(r"[\s()\"]+", text))
    words |= {f"{name}.cc" for name in NAMED_BY_TARGET.findall(text)}
    return words, [word for word in words if word.endswith(".cc") and "*" in word]


def is_named(path, folder, lists):
    """Whether the CMakeLists.txt of `folder` names `path`, which lies below it. As CMake's, a `*` does not reach across a `/`."""
    words, patterns = lists[folder]
    relative = path.relative_to(folder).as_posix()
    if relative in words:
        return True
    return not NOT_BY_PATTERN.search(relative) and any(
        relative.count("/") == pattern.count("/") and fnmatch.fnmatchcase(relative, pattern) for pattern in patterns)


def unnamed_sources(source):
    lists = {file.parent: names_of(file.read_text()) for file in source.rglob("CMakeLists.txt")}
    for path in sorted(source.rglob("*.cc")):
        if not any(is_named(path, folder, lists) for folder in path.parents if folder in lists):
            yield f"{path.relative_to(source)}: no CMakeLists.txt names it"


def unlisted(source, checked):
    listed = "\n".join((source / name).read_text() for name in checked.listed_in if (source / name).exists())
    words = set(re.findall(r"\w+", re.sub(r"//.*", "", listed)))
    for file in sorted(source.glob(checked.declared_in)):
        for name in re.findall(checked.declaration, file.read_text(), re.MULTILINE):
            if name not in words:
                yield f"{file.relative_to(source)}: {checked.what} {name} is not in {' or '.join(checked.listed_in)}"


def misnamed(source, checked):
    """Plugins whose file does not have the name that the list gives them: programs would end at their start."""
    for list_ in (source / name for name in checked.listed_in if name.endswith("plugins.def")):
        names = dict(re.findall(r"^[A-Z_]+PLUGIN\((\w+), (\w+)", list_.read_text() if list_.exists() else "", re.MULTILINE))
        for file in source.glob(checked.declared_in):
            text = "".join(path.read_text() for path in (file, *file.parent.glob("*.h")))
            for function in re.findall(checked.declaration, file.read_text(), re.MULTILINE):
                if function in names and f'"{names[function]}"' not in text:
                    yield f"{file.relative_to(source)}: {function}() has no name \"{names[function]}\", as {list_.name} calls it"


def repeated_lines(source):
    for file in sorted(source.rglob("*.def")):
        lines = Counter(line for line in file.read_text().splitlines() if line and not line.startswith("//"))
        yield from (f"{file.relative_to(source)}: {line} is there {count} times" for line, count in lines.items() if count > 1)


def unordered_schemas(api):
    """A file of the schema that `order` does not name is not read."""
    ordered = (api / "order").read_text().splitlines()
    yield from (f"{api.name}/{file.name}: is not in {api.name}/order" for file in sorted(api.glob("*.v*")) if file.name not in ordered)


def folder_order(document, order):
    """The table of folders must list the layers, lowest first, as the layer check has them."""
    listed = re.findall(r"^\| `(\w+)/` \|", document, re.MULTILINE)
    if listed != order:
        yield f"docs/architecture.md: the folders are listed as {' '.join(listed)}, but tools/check_layers.py has {' '.join(order)}"


def check(source, lists=LISTS):
    problems = list(unnamed_sources(source))
    for checked in lists:
        problems += [*unlisted(source, checked), *misnamed(source, checked)]
    return problems + list(repeated_lines(source))


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    arguments = argparse.ArgumentParser(description="checks that the lists of the tree are complete")
    arguments.add_argument("--source", type=pathlib.Path, default=root / "src")
    problems = [f"src/{problem}" for problem in check(arguments.parse_args().source)]
    problems += unordered_schemas(root / "api")
    problems += folder_order((root / "docs/architecture.md").read_text(), check_layers.ORDER)
    check_report.report(problems)


if __name__ == "__main__":
    main()
