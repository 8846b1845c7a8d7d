"""Authenticode signatures of the programs that are released, by a command of whoever releases them.

The command gets the name of a program behind its words, and puts the signature into that file. Where its keys are is its own affair: they
never come near this tree. Whether a signature is trusted is not asked here: that is for Windows to say.
"""

import pathlib
import shlex
import shutil
import struct
import subprocess
import tempfile

VARIABLE = "PORTHOLE_SIGN_COMMAND"
PE32, PE32_PLUS = 0x10B, 0x20B
DIRECTORIES = {PE32: 96, PE32_PLUS: 112}  # where the data directories begin in the optional header
CERTIFICATES = 4  # the directory of the attribute certificate table; its address is an offset in the file


def has_signature(program):
    """Whether the bytes of a program for Windows name a table of certificates that is in them."""
    try:
        header, = struct.unpack_from("<I", program, 0x3C)
        if program[:2] != b"MZ" or program[header:header + 4] != b"PE\0\0":
            return False
        optional = header + 24
        magic, = struct.unpack_from("<H", program, optional)
        if magic not in DIRECTORIES:
            return False
        offset, size = struct.unpack_from("<II", program, optional + DIRECTORIES[magic] + 8 * CERTIFICATES)
    except struct.error:
        return False
    return 0 < offset and 8 < size and offset + size <= len(program)


def sign(path, command):
    """Signs a file in place. A command that fails, or leaves the file unsigned, ends the release."""
    done = subprocess.run([*shlex.split(command), str(path)], stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{path.name} was not signed: {VARIABLE} ended with {done.returncode}")
    if not has_signature(path.read_bytes()):
        raise SystemExit(f"{path.name} was not signed: {VARIABLE} ended well, but the file has no signature; it has to sign the file in place")


def signed(program, command, name="program.exe"):
    """The bytes with a signature; as they are where there is no command."""
    if not command:
        return program
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_bytes(program)
        sign(path, command)
        return path.read_bytes()


def signed_copies(source, target, command):
    """The files of a folder in a new one, its programs signed. Names of one program stay names of one: it is signed once."""
    pathlib.Path(target).mkdir()
    done = {}
    for path in sorted(pathlib.Path(source).iterdir()):
        copy, same = pathlib.Path(target, path.name), (path.stat().st_dev, path.stat().st_ino)
        if same in done:
            copy.hardlink_to(done[same])
            continue
        shutil.copy2(path, copy)
        done[same] = copy
        if path.suffix == ".exe":
            sign(copy, command)
