"""The commands of porthole and their options, as the program itself describes them with --help.

Manual pages and completions are made from this, so that the program's own tables stay their one source.
"""

import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTION = re.compile(r"^  (?P<names>-\S*)(?P<value> [A-Z]\S*(?: \.\.\.| REQUIRED)*)?(?:\s{2,}(?P<help>.*))?$")
ENTRY = re.compile(r"^  (?P<name>[a-z][a-z0-9-]*)\s+(?P<help>\S.*)$")
VALUES = re.compile(r"\{([^}]*)\}")


@dataclasses.dataclass
class Option:
    names: list  # "-d", "--detach"
    value: str  # "TEXT=/var/lib/porthole"; empty for a switch
    help: str

    def values(self):
        """Those that it takes, where the program lists them."""
        found = VALUES.search(self.value)
        return found[1].split(",") if found else []

    def wants_path(self):
        long = self.names[-1]
        return bool(self.value) and bool(re.search(r"(^--data|config|-file|-dir|-zip|path|^--programs|^--file|directory)", long))


@dataclasses.dataclass
class Command:
    words: list  # ["token", "create"]; empty: the program itself
    summary: str
    text: str  # what --help prints
    options: list
    commands: list

    def everything(self):
        yield self
        for command in self.commands:
            yield from command.everything()


def parse(text):
    """Options, and names of sub-commands with their summaries, in the order of the text."""
    options, commands, section = [], [], None
    for line in text.splitlines():
        heading = re.match(r"^(\S.*):$", line)
        if heading:
            section = heading[1]
            continue
        option = OPTION.match(line)
        if option and section != "Examples":
            options.append(Option(option["names"].split(","), (option["value"] or "").strip(), (option["help"] or "").strip()))
        elif section in ("Commands", "Subcommands", "Roles") and ENTRY.match(line):
            commands.append((ENTRY.match(line)["name"], ENTRY.match(line)["help"]))
        elif options and not options[-1].help and re.match(r"^ {20,}\S", line):
            options[-1].help = line.strip()  # the name was too long for its column
    return options, commands


def run_help(program, words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def run_windows_help(program, words):
    """By Wine. A CNI plugin, which is started by a runtime alone, has no help."""
    command = [ROOT / "cmake/windows/wine_run.sh", program, *words, "--help"]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.stdout.replace("\r\n", "\n") if result.returncode == 0 else ""


def describe(program, words=(), summary="a Kubernetes-API-compatible cluster in one program", help_of=run_help):
    text = help_of(program, list(words))
    options, names = parse(text)
    return Command(list(words), summary, text, options, [describe(program, [*words, name], help, help_of) for name, help in names])
