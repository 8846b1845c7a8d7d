"""What the start scripts of packaging/windows run, without PowerShell: their lists of arguments, with their parameters put in."""

import pathlib
import re

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "packaging/windows/scripts"


def parameters(script):
    """The script's parameters and their defaults; None for one that has to be worked out."""
    block = re.search(r"^param\((.*?)^\)", (SCRIPTS / f"{script}.ps1").read_text(), re.S | re.M).group(1)
    plain = dict(re.findall(r"\$(\w+) = '([^']*)'", block))
    return {name: plain.get(name) for name in re.findall(r"\[string\] \$(\w+)", block)}


def command_line(script, program, node, **given):
    """`program` and the words that the script gives it, as PowerShell would put them together."""
    values = parameters(script)
    unknown = set(given) - set(values)
    if unknown:
        raise AssertionError(f"{script}.ps1 has no parameter {unknown}")
    values.update(given)
    text = (SCRIPTS / f"{script}.ps1").read_text()
    listed = re.search(rf'Start-Logged "\$Folder\\{program}\.exe" @\((.*?)\) \$LogDir', text, re.S).group(1)

    def value(found):
        if found.group() == "$(Get-NodeName)":
            return node
        if not values.get(found.group(1)):
            raise AssertionError(f"{script}.ps1: {found.group()} has no value")
        return values[found.group(1)]
    words = []
    for expanded, literal in re.findall(r'"([^"]*)"|\'([^\']*)\'', listed):
        words.append(re.sub(r"\$\(Get-NodeName\)|\$(\w+)", value, expanded) if expanded else literal)
    return [f"{values['Folder']}\\{program}.exe", *words]
