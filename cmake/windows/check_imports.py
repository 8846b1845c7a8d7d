#!/usr/bin/env python3
"""Refuses a Windows program that is too large or imports what is no part of Windows: check_imports.py FILE...

The programs are copied to a node as single files. A library of the compiler (libstdc++-6.dll, libwinpthread-1.dll) that
slipped in would only be missed there.
"""

import pathlib
import re
import subprocess
import sys

# What Server Core and Nano Server both have; anything newer or rarer is looked up at run time instead.
SYSTEM = {"advapi32", "bcrypt", "crypt32", "dnsapi", "iphlpapi", "kernel32", "msvcrt", "mswsock", "netapi32", "ntdll", "ole32", "psapi",
          "rpcrt4", "secur32", "shell32", "shlwapi", "user32", "userenv", "ws2_32", "wtsapi32"}
LARGEST = 20 << 20  # bytes


def imports(path):
    listing = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", str(path)], check=True, capture_output=True, text=True).stdout
    return {name.lower().removesuffix(".dll") for name in re.findall(r"DLL Name: (\S+)", listing)}


def problems(path):
    foreign = imports(path) - SYSTEM
    if foreign:
        yield f"{path} imports {', '.join(sorted(foreign))}: link it statically, or load it at run time (cmake/windows/check_imports.py)"
    if path.stat().st_size > LARGEST:
        yield f"{path} has {path.stat().st_size >> 20} MiB, more than {LARGEST >> 20}"


def main():
    found = [problem for name in sys.argv[1:] for problem in problems(pathlib.Path(name))]
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
