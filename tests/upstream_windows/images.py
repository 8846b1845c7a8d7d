#!/usr/bin/env python3
"""Makes the Windows images that upstream's tests run, as one archive for `porthole image load`: images.py OUTPUT.tar --files FOLDER.

What upstream takes from Microsoft and from download pages is made of what package registries carry: a POSIX shell and its programs (shell/, of Go
modules), curl (curl.sh, of Debian's source package), nginx (of PyPI). agnhost and hostname are upstream's own. `nslookup` and `dig` are
lookup.c. PowerShell cannot be had. Names, versions, folders, users and entry points are those of upstream's Dockerfile_windows.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "packaging/windows_images"), str(ROOT / "tests/programs")]
import image_archive  # noqa: E402
import make_images  # noqa: E402
import sources  # noqa: E402
import test_nginx  # noqa: E402
import windows_image  # noqa: E402
from windows_image import Layer, WindowsImage  # noqa: E402

E2E = "registry.k8s.io/e2e-test-images"
BUILD = "10.0.20348.1"  # of the hosts that `porthole up` makes
PATH = "PATH=C:\\dig\\;C:\\bin\\;C:\\curl\\;C:\\Windows\\system32;C:\\Windows;C:\\Program Files\\PowerShell;"
AGNHOST = sources.GoProgram("agnhost", "conformance/upstream", "k8s.io/kubernetes/test/images/agnhost", "agnhost")
HOSTNAME = sources.GoProgram("hostname", "conformance/upstream", "k8s.io/kubernetes/test/images/busybox", "bin/hostname.exe")
OWN_PROGRAMS = "env expr hexdump mv nc sh wget".split()
PROGRAMS = ("base64 basename cat chmod cmp cp date dd dirname echo false find grep head ln ls md5sum mkdir mktemp printenv pwd rm seq shasum "
            "sleep sort strings tail tar tee time touch tr true truncate uniq wc which xargs yes").split()
PACKAGES = {"awk": "github.com/benhoyt/goawk"} | {name: f"./{name}" for name in OWN_PROGRAMS} | {
    name: f"github.com/u-root/u-root/cmds/core/{name}" for name in PROGRAMS}
SHELL = [sources.GoProgram(name, "upstream_windows/shell", package, f"bin/{name}.exe") for name, package in PACKAGES.items()]
NGINX = dataclasses.replace(test_nginx.Nginx.sources[0], files=((test_nginx.BUILT, "usr/share/nginx/nginx.exe"),))
NGINX_SETTINGS = "daemon off; error_log stderr; events {}\nhttp { server { listen 80; root html; } }\n"
PAGE = "<html><body>Welcome to nginx!</body></html>\n"


def compile_lookup():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "lookup.exe")
        subprocess.run([make_images.COMPILER, *make_images.WINDOWS_FLAGS, "-static", "-o", program, HERE / "lookup.c", "-ldnsapi", "-lws2_32"], check=True)
        return program.read_bytes()


@dataclasses.dataclass(frozen=True)
class Curl:
    """Compiled by curl.sh."""

    place: str

    @property
    def kept(self):
        return sources.CACHE / f"curl-{image_archive.sha256(b''.join((HERE / name).read_bytes() for name in ('curl.sh', 'curl.txt')))[:16]}"

    def fetch(self):
        made = self.kept.with_suffix(".part")
        sources.call(HERE / "curl.sh", made)
        made.rename(self.kept)

    def image_files(self):
        """With the library of mingw's that it needs."""
        library = "libwinpthread-1.dll"
        found = subprocess.run([make_images.COMPILER, f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout.strip()
        return {f"{self.place}/curl.exe": self.kept.read_bytes(), f"{self.place}/{library}": pathlib.Path(found).read_bytes()}


CURL = Curl("curl")


def files_in(folder, place=""):
    return {place + path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def images(files):
    lookup = compile_lookup()
    base = Layer({"dig/dig.exe": lookup, "dig/nslookup.exe": lookup}, folders=["tmp"])
    for source in (*SHELL, HOSTNAME, CURL):
        base.files |= source.image_files()
    base.files["dev/null"] = b""  # for `tail -f /dev/null`, which waits
    base.files["bin/bash.exe"] = base.files["bin/sh.exe"]
    program = AGNHOST.image_files()["agnhost"]
    agnhost = [base, Layer({"agnhost": program, "agnhost-2": program, **files_in(files / "porter")}, folders=["uploads"])]
    nginx = [base, Layer({**NGINX.image_files(), "usr/share/nginx/conf/nginx.conf": NGINX_SETTINGS.encode(),
                          "usr/share/nginx/html/index.html": PAGE.encode()}, folders=["usr/share/nginx/logs", "usr/share/nginx/temp"])]

    def made(name, layers, entrypoint, command=(), user="ContainerAdministrator"):
        return WindowsImage(name=name, layers=layers, builds=[BUILD], entrypoint=list(entrypoint), command=list(command), user=user, environment=[PATH])

    yield made(f"{E2E}/busybox:1.37.0-1", [base], ["cmd.exe", "/s", "/c"])
    yield made(f"{E2E}/glibc-dns-testing:2.0.0", [base], ["/bin/bash"])
    for tag in ("2.55", "2.63.0"):
        yield made(f"{E2E}/agnhost:{tag}", agnhost, ["/agnhost"], ["pause"])
    yield made(f"{E2E}/nonroot:1.5", agnhost, ["/agnhost"], ["pause"], user="ContainerUser")
    for name in ("kitten", "nautilus"):
        yield made(f"{E2E}/{name}:1.8", [*agnhost, Layer(files_in(files / name))], ["/agnhost"], ["test-webserver"])
    for tag in ("1.15-4", "1.27-0"):
        yield made(f"{E2E}/nginx:{tag}", nginx, ["/bin/sh", "-c", " cd /usr/share/nginx && ./nginx.exe"])
    yield make_images.pause_image(make_images.COMPILER, "registry.k8s.io/pause:3.10.2", [BUILD])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--files", type=pathlib.Path, required=True)
    words = parser.parse_args()
    made_of = [path for folder in (HERE, HERE / "shell", *(HERE / "shell" / name for name in OWN_PROGRAMS)) for path in sorted(folder.iterdir()) if path.is_file()]
    made_of += [path for path in sorted(words.files.rglob("*")) if path.is_file()]
    names = " ".join(source.kept.name for source in (AGNHOST, HOSTNAME, *SHELL, CURL, NGINX)).encode()
    stamp, mark = image_archive.sha256(names + b"".join(path.read_bytes() for path in made_of)), words.output.with_suffix(".stamp")
    if not words.output.exists() or not mark.exists() or mark.read_text() != stamp:
        sources.CACHE.mkdir(parents=True, exist_ok=True)
        for source in (AGNHOST, HOSTNAME, *SHELL, CURL, NGINX):
            if not source.kept.exists():
                print(f"  fetching {source.kept.name}", flush=True)
                source.fetch()
        made = words.output.with_suffix(".part")
        windows_image.write_oci(made, list(images(words.files)), compress=False)
        made.rename(words.output)
        mark.write_text(stamp)


if __name__ == "__main__":
    main()
