"""The tests' Windows image: probe.exe, piped.exe, lonely.exe and udp.exe, whose sources say what they can do."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "src/winhost/cri/test"
NAME = "porthole.test/windows-probe:1"

sys.path.insert(0, str(ROOT / "packaging/windows_images"))
from windows_image import Layer, WindowsImage, write_oci  # noqa: E402


def compile_program(name, folder, libraries=()):
    program = folder / f"{name}.exe"
    subprocess.run(["x86_64-w64-mingw32-gcc-posix", "-Os", "-s", "-static", "-Wall", "-Werror", "-o", program, SOURCES / f"{name}.c",
                    *libraries], check=True, timeout=60)
    return program


def compile_udp(folder):
    """The program that the tests' Linux image has, too."""
    program, portable = folder / "udp.exe", ROOT / "packaging/web_image"
    subprocess.run(["x86_64-w64-mingw32-gcc-posix", "-Os", "-s", "-static", "-Wall", "-Werror", f"-I{portable}", f"-I{portable}/windows", "-o", program,
                    HERE / "udp.c", portable / "windows/platform.c", "-lws2_32"], check=True, timeout=60)
    return program


def library_without_dll(folder):
    """What a program is linked with that needs nowhere.dll, which no image has."""
    definition, library = folder / "nowhere.def", folder / "libnowhere.a"
    definition.write_text("LIBRARY nowhere.dll\nEXPORTS\ndo_nothing\n")
    subprocess.run(["x86_64-w64-mingw32-dlltool", "-d", definition, "-l", library], check=True, timeout=60)
    return library


def make(archive):
    files = {f"app/{name}.exe": compile_program(name, archive.parent).read_bytes() for name in ("probe", "piped")}
    files["app/udp.exe"] = compile_udp(archive.parent).read_bytes()
    files["app/lonely.exe"] = compile_program("lonely", archive.parent, [library_without_dll(archive.parent)]).read_bytes()
    write_oci(archive, [WindowsImage(name=NAME, layers=[Layer(files)], entrypoint=["C:\\app\\probe.exe"], command=["wait"],
                                     working_dir="C:\\app")])
