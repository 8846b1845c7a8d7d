#!/usr/bin/env python3
"""Builds the project's own Windows images: make_images.py pause|web OUTPUT.tar [--name REFERENCE...] [--build BUILD...].

  pause   registry.porthole.internal/pause:1, the sandbox image, for Linux too: one list names linux and every Windows build
  web     registry.porthole.internal/windows-web:1, the web server of samples/ and a client, fetch.exe

Several --name give the image several tags. No Windows machine is needed; the same source gives the same bytes.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from windows_image import BUILDS, Layer, WindowsImage, write_oci

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "pause"))
import make_image as linux_pause  # noqa: E402

COMPILER = "x86_64-w64-mingw32-gcc-posix"
LINUX_COMPILER = "clang-19"
FLAGS = ["-Os", "-s", "-Wall", "-Wextra", "-Werror", "-Wl,--no-insert-timestamp"]
WITHOUT_C_LIBRARY = ["-nostdlib", "-ffreestanding", "-e", "start", "-Wl,--subsystem,console"]


def compile_program(compiler, source, options, libraries):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, source).with_suffix(".exe")
        subprocess.run([compiler, *FLAGS, *options, "-o", program, HERE / source, *libraries], check=True)
        return program.read_bytes()


def pause_image(compiler, name, builds=None):
    return WindowsImage(
        name=name,
        layers=[Layer({"pause.exe": compile_program(compiler, "pause.c", WITHOUT_C_LIBRARY, ["-lkernel32"])})],
        builds=builds or BUILDS,
        entrypoint=["C:\\pause.exe"],
        user="ContainerUser",
        beside=[linux_pause.pause_image(LINUX_COMPILER, name)],
    )


def web_image(compiler, name, builds=None):
    programs = {f"web/{program}.exe": compile_program(compiler, f"{program}.c", ["-static"], ["-lws2_32"]) for program in ("web", "fetch")}
    return WindowsImage(
        name=name,
        layers=[Layer(programs, folders=["site"])],
        builds=builds or BUILDS,
        entrypoint=["C:\\web\\web.exe"],
        working_dir="C:\\web",
        ports=["80/tcp"],
    )


IMAGES = {
    "pause": (pause_image, "registry.porthole.internal/pause:1"),
    "web": (web_image, "registry.porthole.internal/windows-web:1"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", choices=IMAGES)
    parser.add_argument("output")
    parser.add_argument("--name", action="append", dest="names")
    parser.add_argument("--build", action="append", dest="builds")
    parser.add_argument("--compiler", default=COMPILER)
    options = parser.parse_args()
    make, name = IMAGES[options.image]
    write_oci(options.output, [make(options.compiler, each, options.builds) for each in options.names or [name]])


if __name__ == "__main__":
    main()
