"""Manual pages: one for the program and one for each of its commands, from their --help."""

import re

NAME = re.compile(r"^\S.*:$")


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def page_name(command):
    return "-".join(["porthole", *command.words])


def pages(root, version, date):
    """File names and texts. `date`: "2026-11-22", of the version."""
    for command in [root, *root.commands]:
        yield f"{page_name(command)}.1", page(root, command, version, date)


def page(root, command, version, date):
    lines = [f'.TH "{page_name(command).upper()}" 1 "{date}" "porthole {version}" "Porthole"',
             ".SH NAME", f"{escape(page_name(command))} \\- {escape(command.summary)}",
             ".SH SYNOPSIS", f".B {escape(' '.join(['porthole', *command.words]))}", synopsis(command),
             ".SH DESCRIPTION", *description(command)]
    if command.commands:
        lines.append(".SH COMMANDS")
        for below in command.commands:
            lines += [".TP", f".B {escape(' '.join(below.words))}", escape(below.summary)]
            lines += option_lines(below) if below.words[1:] else []
    if command.options:
        lines += [".SH OPTIONS", *option_lines(command)]
    examples = section(command.text, "Examples")
    if examples:
        lines += [".SH EXAMPLES", ".nf", *[escape(line[2:]) for line in examples], ".fi"]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{escape(page_name(other))}\\fR(1)" for other in [root, *root.commands] if other is not command)]
    return "\n".join(lines) + "\n"


def synopsis(command):
    return "COMMAND [OPTIONS]" if command.commands else "[OPTIONS]"


def option_lines(command):
    for option in command.options:
        if command.words[1:] and "--help" in option.names:
            continue
        value = f" \\fI{escape(option.value)}\\fR" if option.value else ""
        yield ".TP"
        yield ", ".join(f"\\fB{escape(name)}\\fR" for name in option.names) + value
        yield escape(option.help) or "\\&"


def description(command):
    """What stands in the help outside its lists: the first paragraph, and the words after them."""
    paragraph, inside = [], False
    for line in command.text.splitlines():
        if NAME.match(line):
            inside = True
        elif inside and not line.startswith(" ") and line:
            inside = False
        if inside or line.startswith("Usage:") or re.match(r"^  (--?\S|[a-z-]+ {2,})", line):
            continue
        if line.strip():
            paragraph.append(escape(line.strip()))
        elif paragraph and paragraph[-1] != ".PP":
            paragraph.append(".PP")
    while paragraph and paragraph[-1] == ".PP":
        paragraph.pop()
    return paragraph


def section(text, name):
    lines, inside = [], False
    for line in text.splitlines():
        if inside and line and not line.startswith(" "):
            break
        if inside and line:
            lines.append(line)
        inside = inside or line == f"{name}:"
    return lines
