#!/usr/bin/env python3
"""Makes a Wine root, for `porthole up --wine-root` and `porthole winhost run --wine-root`: wine_root.py FOLDER [--release trixie] [--32-bit].

    wine_root.py /var/lib/porthole-wine-10 --32-bit

A Wine root is a directory with Wine and the libraries that it needs, laid out as in a Debian system: containers of emulated Windows hosts then run
with this Wine, whatever the machine itself has. All of it comes from Debian's packages of the release, whose signatures apt verifies; apt has an
index of its own for it, and nothing is installed. --32-bit adds Wine's DLLs for 32-bit programs (for Wine 9 and newer). FOLDER must not exist.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Unpacked with all that they depend on. Several names of one package: the first that the release has.
LIBRARIES = ("libc6", "libc-bin", "libgcc-s1", "libunwind8", "libfontconfig1", "libfreetype6", ("libgnutls30t64", "libgnutls30"))
# Wine itself, without what it depends on: nothing here shows windows or plays sounds. Its fonts are for the consoles of services: without any,
# the console host divides by the width of a letter.
WINE = ("wine64", "libwine", "libz-mingw-w64", "fonts-wine")
KEPT = ("usr/lib/wine", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib/locale/C.utf8", "usr/share/wine")
MIRROR = "http://deb.debian.org/debian"
LIBRARY_FOLDER = "usr/lib/x86_64-linux-gnu"


class Failed(Exception):
    pass


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=3600, **options)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command[:2]))} ended with {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def mirror():
    """The one that the machine's own index comes from."""
    try:
        lines = call("apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Identifier: Packages").splitlines()
    except Failed:
        lines = []
    return next((line.split()[1] for line in lines if line.startswith("Debian ") and "security" not in line), MIRROR)


class Apt:
    """Debian's packages of one release, as if nothing were installed."""

    def __init__(self, folder, release):
        self.folder = folder
        for place in ("lists/partial", "cache/archives/partial"):
            (folder / place).mkdir(parents=True)
        (folder / "sources.list").write_text(f"deb {mirror()} {release} main\n")
        (folder / "status").touch()
        settings = {"APT::Architectures": "amd64,i386", "APT::Architecture": "amd64", "Acquire::Languages": "none", "Debug::NoLocking": "1",
                    "APT::Sandbox::User": "root", "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-",
                    "Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache"}
        self.options = ["-q"] + [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        call("apt-get", "update", *self.options)
        self.names = set(call("apt-cache", "pkgnames", *self.options).split())

    def choose(self, names):
        names = (names,) if isinstance(names, str) else names
        found = next((name for name in names if name in self.names), None)
        if not found:
            raise Failed(f"the release has no package {' or '.join(names)}")
        return found

    def with_dependencies(self, packages):
        """The files of these and of all that they need."""
        call("apt-get", "install", *self.options, "--yes", "--no-install-recommends", "--download-only", *map(self.choose, packages))
        return sorted((self.folder / "cache/archives").glob("*.deb"))

    def alone(self, package):
        before = set(self.folder.glob("*.deb"))
        call("apt-get", "download", *self.options, package, cwd=self.folder)
        return next(iter(set(self.folder.glob("*.deb")) - before))


def unpack(archive, folder):
    folder.mkdir(exist_ok=True)
    call("dpkg-deb", "-x", archive, folder)


def mark_as_wines(dll):
    """Of the package of mingw, as libwine's own installation does it: Wine looks only for DLLs that say they are its own."""
    return dll[:64] + b"Wine builtin DLL".ljust(32, b"\0") + dll[96:]


def add_zlib(root):
    for mingw, wine in (("x86_64", "x86_64-windows"), ("i686", "i386-windows")):
        folder = root / LIBRARY_FOLDER / "wine" / wine
        for dll in (root / f"usr/{mingw}-w64-mingw32/lib").glob("zlib*.dll"):
            if folder.is_dir():
                (folder / dll.name).write_bytes(mark_as_wines(dll.read_bytes()))


def trim(root):
    """Leaves what a Wine root is for."""
    kept = [root / place for place in KEPT]
    for path in sorted(root.rglob("*"), reverse=True):
        if any(path.is_relative_to(place) or place.is_relative_to(path) for place in kept):
            continue
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def make(root, release, with_32_bit):
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent, prefix=".wine-root-") as name:
        folder = pathlib.Path(name)
        apt = Apt(folder, release)
        made = folder / "root"
        print(f"  fetching Wine and its libraries of Debian {release}", flush=True)
        for archive in [*apt.with_dependencies(LIBRARIES), *map(apt.alone, WINE)]:
            unpack(archive, made)
        dlls = made / LIBRARY_FOLDER / "wine/i386-windows"
        shutil.rmtree(dlls, ignore_errors=True)  # without anything in it
        if with_32_bit:
            print("  fetching Wine's DLLs for 32-bit programs", flush=True)
            unpack(apt.alone("libwine:i386"), folder / "i386")
            (folder / "i386/usr/lib/i386-linux-gnu/wine/i386-windows").rename(dlls)
        if not (made / "usr/lib64").exists():
            raise Failed(f"Debian {release} has no {made / 'usr/lib64'}: Debian 13 (trixie) and newer are possible")
        add_zlib(made)
        trim(made)
        made.chmod(0o755)
        made.rename(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--release", default="trixie", help="Debian's name of the release; default: trixie (Debian 13, Wine 10)")
    parser.add_argument("--32-bit", action="store_true", dest="with_32_bit", help="also Wine's DLLs for 32-bit programs")
    options = parser.parse_args()
    root = options.folder.absolute()
    if root.exists():
        sys.exit(f"wine_root.py: {root} exists already: delete it first, or name another directory")
    try:
        make(root, options.release, options.with_32_bit)
    except (Failed, OSError) as error:
        sys.exit(f"wine_root.py: {error}")
    print(f"  {root}: start a cluster with `porthole up --nodes linux=1,windows=1 --wine-root {root}`")


if __name__ == "__main__":
    main()
