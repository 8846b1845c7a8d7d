#!/usr/bin/env python3
"""Makes the images that upstream's conformance tests run, as the storage of a docker-registry: images.py FOLDER --programs FOLDER.

No registry is asked. agnhost, nonewprivs and sample-apiserver are upstream's own programs, compiled from their sources; everything around them is Debian's:
`BASE` unpacked below all images stands in for the Alpine and Debian images that upstream builds on, nginx and etcd are Debian's. Names and
versions are those of upstream's test/utils/image/manifest.go.
"""

import argparse
import io
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "packaging/pause"), str(ROOT / "tests/images")]
import image_archive  # noqa: E402
import image_registry  # noqa: E402
import make  # noqa: E402
import make_image  # noqa: E402
from image_registry import Registry, layer_of_files  # noqa: E402

BASE = ["bash", "bind9-dnsutils", "busybox-static", "ca-certificates", "curl", "dash", "iproute2", "libc-bin", "netcat-openbsd", "util-linux"]
USERS = ("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\nwww-data:x:33:33:www-data:/var/www:/bin/false\n"
         "user-defined-in-image:x:1000:1000::/:/bin/sh\n")
GROUPS = "root:x:0:\nnogroup:x:65534:\nwww-data:x:33:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"
# A test reads the first word of this where the image is mounted as a volume.
RELEASE = 'NAME="Alpine Linux"\nPRETTY_NAME="Debian\'s programs in place of Alpine Linux"\nID=debian\n'
NGINX = ("user www-data; pid /run/nginx.pid; error_log /dev/stderr; events {}\n"
         "http { include /etc/nginx/mime.types; access_log /dev/stdout; server { listen 80; root /usr/share/nginx/html; } }\n")
E2E = "e2e-test-images"  # of registry.k8s.io, as pause and etcd are


def layer_of_folder(folder):
    """The tree without times, owned by root."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            entry = tar.gettarinfo(path, str(path.relative_to(folder)))
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            if entry.isreg():
                with path.open("rb") as content:
                    tar.addfile(entry, content)
            else:
                tar.addfile(entry)
    return stream.getvalue()


def unpack_debian(packages, root):
    """The packages and all that they depend on, as files: nothing is configured, no script of a package runs."""
    with tempfile.TemporaryDirectory() as name:
        cache = pathlib.Path(name)
        (cache / "archives/partial").mkdir(parents=True)
        (cache / "status").touch()
        subprocess.run(["apt-get", "-qq", "-y", "--no-install-recommends", "--download-only", "-o", f"Dir::State::status={cache}/status",
                        "-o", f"Dir::Cache={cache}", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1", "install", *packages],
                       check=True, stdout=subprocess.DEVNULL)
        for place in ("bin", "sbin", "lib", "lib64"):
            (root / "usr" / place).mkdir(parents=True, exist_ok=True)
            (root / place).symlink_to("usr/" + place)
        for package in sorted((cache / "archives").glob("*.deb")):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as content:
                subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", root, "--exclude=./usr/share/doc", "--exclude=./usr/share/man",
                                "--exclude=./usr/share/locale", "--exclude=./usr/share/perl*", "--exclude=./usr/lib/*/perl*"],
                               stdin=content.stdout, check=True)


def debian_layer(packages):
    """With busybox for every usual program that no package has. Its shell would run itself in place of every other program: see `dash`."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        unpack_debian(packages, root)
        applets = subprocess.run([root / "bin/busybox", "--list"], check=True, capture_output=True, text=True).stdout.split()
        for applet in applets:
            if not any((root / "usr" / place / applet).is_symlink() or (root / "usr" / place / applet).exists() for place in ("bin", "sbin")):
                (root / "usr/bin" / applet).symlink_to("busybox")
        if "netcat-openbsd" in packages:
            replace(root / "bin/nc").symlink_to("nc.openbsd")
        for place, text in {"etc/passwd": USERS, "etc/group": GROUPS, "etc/os-release": RELEASE}.items():
            replace(root / place).write_text(text)
        for place, mode in {"tmp": 0o1777, "root": 0o700, "run": 0o755, "var/log/nginx": 0o755}.items():
            (root / place).mkdir(parents=True, exist_ok=True)
            (root / place).chmod(mode)
        return layer_of_folder(root)


def replace(path):
    path.unlink(missing_ok=True)
    return path


def busybox_layer(busybox):
    applets = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split()
    return layer_of_files({"bin/busybox": (busybox.read_bytes(), 0o755), "etc/passwd": (USERS, 0o644), "etc/group": (GROUPS, 0o644)},
                          {f"bin/{applet}": "busybox" for applet in applets if applet != "busybox"},
                          {"tmp": 0o1777, "root": 0o700, "usr/bin": 0o755, "var": 0o755, "home": 0o755})


def compile_proxy():
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name) / "proxy"
        subprocess.run([make.COMPILER, "-O2", "-static", "-s", "-o", program, HERE / "proxy.c"], check=True)
        return program.read_bytes()


def served_by_agnhost(repository, tag, config, layer, manifest):
    """Files of the registry that agnhost itself serves to some tests."""
    files = {}
    for kind, blob in (("manifests", manifest), ("blobs", config), ("blobs", layer)):
        digest = image_archive.sha256(blob)
        files[f"var/registry/{repository}/{kind}/sha256/{digest[:2]}/{digest}/data"] = (blob, 0o644)
    files[f"var/registry/{repository}/manifests/{tag}"] = (f"sha256:{image_archive.sha256(manifest)}\n", 0o644)
    return files


def files_in(folder):
    return {path.name: (path.read_bytes(), 0o644) for path in folder.iterdir()}


def make_images(folder, programs):
    registry = Registry(folder)
    program = lambda name: (programs / name).read_bytes()

    # The program of the sandbox image that Porthole carries.
    pause = layer_of_files({"pause": (make_image.compile_pause(make.COMPILER), 0o755)})
    config, manifest = registry.add("pause", "3.10.2", [pause], entrypoint=["/pause"], user="65535:65535")

    base = debian_layer(BASE)
    files = {"agnhost": (program("agnhost"), 0o755), **served_by_agnhost("pause", "testing", config, pause, manifest)}
    files |= files_in(programs / "files/porter")
    agnhost = [base, layer_of_files(files, {"agnhost-2": "agnhost"}, {"uploads": 0o755})]
    for tag in ("2.55", "2.63.0"):
        registry.add(f"{E2E}/agnhost", tag, agnhost, ["pause"], ["/agnhost"])
    registry.add(f"{E2E}/nonroot", "1.5", agnhost, ["pause"], ["/agnhost"], user="1234")
    # Set-user-id, to show whose rights it gets.
    registry.add(f"{E2E}/nonewprivs", "1.4", [base, layer_of_files({"usr/local/bin/nnp": (program("nonewprivs"), 0o4755)})], ["nnp"])
    for name in ("kitten", "nautilus"):
        registry.add(f"{E2E}/{name}", "1.8", [*agnhost, layer_of_files(files_in(programs / "files" / name))], ["test-webserver"], ["/agnhost"])
    # Upstream's is a Debian: tests of storage ask its dd for what busybox's does not know.
    registry.add(f"{E2E}/glibc-dns-testing", "2.0.0", [debian_layer([*BASE, "coreutils"])], ["/bin/bash"])
    registry.add(f"{E2E}/busybox", "1.37.0-1", [busybox_layer(programs / "busybox")], ["sh"])

    nginx = [debian_layer(["busybox-static", "dash", "netcat-openbsd", "nginx-light"]), layer_of_files({
        "etc/nginx/nginx.conf": (NGINX, 0o644), "usr/share/nginx/html/index.html": ("<html><body>Welcome to nginx!</body></html>\n", 0o644)})]
    for tag in ("1.15-4", "1.27-0"):
        registry.add(f"{E2E}/nginx", tag, nginx, ["nginx", "-g", "daemon off;"])

    registry.add("build-image/distroless-iptables", "v0.9.6", [debian_layer([*BASE, "conntrack", "iptables"])])
    registry.add("sig-storage/hostpathplugin", "v1.17.1",
                 [busybox_layer(programs / "busybox"), layer_of_files({"hostpathplugin": (compile_proxy(), 0o755)})])

    registry.add(f"{E2E}/sample-apiserver", "1.29.2", [base, layer_of_files({"sample-apiserver": (program("sample-apiserver"), 0o755)})],
                 entrypoint=["/sample-apiserver"])
    etcd = layer_of_files({"usr/local/bin/etcd": ((ROOT / "build/tools/etcd").read_bytes(), 0o755)})
    registry.add("etcd", "3.6.8-0", [base, etcd], ["etcd"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    words = parser.parse_args()
    sources = [HERE / "images.py", *(pathlib.Path(module.__file__) for module in (make, image_archive, image_registry))]
    stamp, mark = image_archive.sha256(b"".join(path.read_bytes() for path in sources)), words.folder / "stamp"
    if not mark.exists() or mark.read_text() != stamp:
        shutil.rmtree(words.folder, ignore_errors=True)
        make_images(words.folder, words.programs)
        mark.write_text(stamp)


if __name__ == "__main__":
    main()
