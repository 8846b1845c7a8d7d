"""Servers of our own in C and in C++, each with the runtime that Windows has always had and with the universal one."""

import pathlib

import program_case
from sources import CProgram, CxxProgram

HERE = pathlib.Path(__file__).resolve().parent
TALK = program_case.ASK + """
answer = ask("GET", "/")
assert answer == (200, b"from a ConfigMap in LANGUAGE with RUNTIME, 3.00"), answer
if "-service" not in HOST:
    if PHASE == "use":
        assert ask("PUT", "/kept", b"0123456789" * 10000)[0] == 200
    assert ask("GET", "/kept") == (200, b"0123456789" * 10000)
"""


def source(kind, runtime):
    """Says at its start which runtime it was made for."""
    text = f'#define RUNTIME "{runtime}"\n' + (HERE / f"server{kind.suffix}").read_text()
    return kind("server", text, "app", ucrt=runtime == "ucrt")


def talk(language, runtime):
    return TALK.replace("LANGUAGE", language).replace("RUNTIME", runtime)


class C(program_case.ProgramCase):
    program = "C, msvcrt"
    sources = (source(CProgram, "msvcrt"),)
    command = ("C:\\app\\server.exe",)
    port = 8080
    config = {"greeting.txt": "from a ConfigMap"}
    secret = {"token": "correct-horse"}
    environment = {"TOKEN": "secret:token"}
    memory = "128Mi"
    check = ("cmd", "/c", "dir", "C:\\config")
    says = "listening on 8080"
    says_at_stop = "ends after event 6"
    talk = talk("C", "msvcrt")


class CUcrt(C):
    program = "C, UCRT"
    sources = (source(CProgram, "ucrt"),)
    talk = talk("C", "ucrt")


class Cxx(C):
    program = "C++, msvcrt"
    sources = (source(CxxProgram, "msvcrt"),)
    talk = talk("C++", "msvcrt")


class CxxUcrt(C):
    program = "C++, UCRT"
    sources = (source(CxxProgram, "ucrt"),)
    talk = talk("C++", "ucrt")
