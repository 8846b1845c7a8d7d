#!/usr/bin/env python3
"""Builds the project's own images: make_images.py pause|web OUTPUT.tar [--name REFERENCE...] [--build BUILD...]
[--sign COMMAND].

  pause   registry.porthole.internal/pause:1, the sandbox image
  web     registry.porthole.internal/web:2, the web server of samples/, a client, fetch, and check, what `net verify` runs

One list names linux and every Windows build. Programs that use an image find it by its tag: raise the tag when they need the new content.

Several --name give the image several tags. --sign signs the Windows programs, as PORTHOLE_SIGN_COMMAND does those of a release. No Windows machine is needed; the same source gives the same bytes.
"""

import argparse
import pathlib
import platform
import subprocess
import sys
import tempfile

from windows_image import BUILDS, Layer, WindowsImage, write_oci

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "pause"))
sys.path.insert(0, str(HERE.parent / "windows"))
import image_archive  # noqa: E402
import make_image as linux_pause  # noqa: E402
import signing  # noqa: E402

WEB = HERE.parent / "web_image"
COMPILER = "x86_64-w64-mingw32-gcc-posix"
LINUX_COMPILER = "clang-19"
FLAGS = ["-Os", "-Wall", "-Wextra", "-Werror"]
WINDOWS_FLAGS = [*FLAGS, "-s", "-Wl,--no-insert-timestamp"]
LINUX_FLAGS = [*FLAGS, "-I", WEB / "linux"]
WITHOUT_C_LIBRARY = ["-nostdlib", "-ffreestanding", "-e", "start", "-Wl,--subsystem,console"]


def compile_program(compiler, options, sources, libraries=()):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program.exe")
        subprocess.run([compiler, *options, "-o", program, *sources, *libraries], check=True)
        return program.read_bytes()


def pause_image(compiler, name, builds=None):
    return WindowsImage(
        name=name,
        layers=[Layer({"pause.exe": compile_program(compiler, [*WINDOWS_FLAGS, *WITHOUT_C_LIBRARY], [HERE / "pause.c"], ["-lkernel32"])})],
        builds=builds or BUILDS,
        entrypoint=["C:\\pause.exe"],
        user="ContainerUser",
        beside=[linux_pause.pause_image(LINUX_COMPILER, name)],
    )


WEB_PROGRAMS = {"web": ["web.c"], "fetch": ["fetch.c", "http_get.c"], "check": ["check.c", "http_get.c", "{system}/ping.c"]}


def web_sources(system, *programs):
    """Of the programs together, each once."""
    names = ["{system}/platform.c", *(source for program in programs for source in WEB_PROGRAMS[program])]
    return [WEB / name.format(system=system) for name in dict.fromkeys(names)]


def web_program(compiler, name):
    options = [*WINDOWS_FLAGS, "-static", "-I", WEB / "windows"]
    return compile_program(compiler, options, web_sources("windows", name), ["-liphlpapi", "-lws2_32"])


def linux_web_program(compiler):
    """web, fetch and check as one program, in which the main function of each is named after it."""
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for source in web_sources("linux", *WEB_PROGRAMS):
            objects.append(pathlib.Path(folder, f"{source.stem}.o"))
            subprocess.run([compiler, *LINUX_FLAGS, f"-Dmain={source.stem}_main", "-c", "-o", objects[-1], source], check=True)
        link = ["-s", "-static", "-fuse-ld=lld", "-Wl,--build-id=none"]
        return compile_program(compiler, [*LINUX_FLAGS, *link], [*objects, WEB / "linux/main.c"])


def linux_web_image(compiler, name):
    return image_archive.Image(
        name=name,
        files={"web/web": (linux_web_program(compiler), 0o755)},
        links={"web/fetch": "web", "web/check": "web"},
        folders={"site": 0o755, "tmp": 0o1777},
        entrypoint=["/web/web"],
        architecture=image_archive.ARCHITECTURES[platform.machine()],
    )


def web_image(compiler, name, builds=None):
    programs = {f"web/{program}.exe": web_program(compiler, program) for program in WEB_PROGRAMS}
    return WindowsImage(
        name=name,
        layers=[Layer(programs, folders=["site"])],
        builds=builds or BUILDS,
        entrypoint=["C:\\web\\web.exe"],
        working_dir="C:\\web",
        ports=["80/tcp"],
        beside=[linux_web_image(LINUX_COMPILER, name)],
    )


IMAGES = {
    "pause": (pause_image, "registry.porthole.internal/pause:1"),
    "web": (web_image, "registry.porthole.internal/web:2"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", choices=IMAGES)
    parser.add_argument("output")
    parser.add_argument("--name", action="append", dest="names")
    parser.add_argument("--build", action="append", dest="builds")
    parser.add_argument("--compiler", default=COMPILER)
    parser.add_argument("--sign", metavar="COMMAND", help="signs a Windows program, whose file is its last word, in place")
    options = parser.parse_args()
    make, name = IMAGES[options.image]
    images = [make(options.compiler, each, options.builds) for each in options.names or [name]]
    for image in images:
        for layer in image.layers:
            layer.files.update((path, signing.signed(data, options.sign, pathlib.PurePath(path).name))
                               for path, data in layer.files.items() if path.endswith(".exe"))
    write_oci(options.output, images)


if __name__ == "__main__":
    main()
