#!/usr/bin/env python3
"""Makes the packages of Porthole out of built programs. The same programs and the same commit give the same bytes.

    package.py OUTPUT --build build/release --static-prefix DIR [--windows build/windows --windows-prefix DIR] [--kubectl kubectl]

docs/guide/packages.md says what each package holds.
"""

import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import command_help
import completions
import kubectl_licences
import manual
import materials

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "windows"))
import make_zip  # noqa: E402
import signing  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Whoever passes packages on says who answers for them, as Debian's own tools want it. Otherwise it is the project, which has no address:
# nobody can own one below .invalid (RFC 2606).
MAINTAINER = f"{os.environ.get('DEBFULLNAME') or 'Porthole project'} <{os.environ.get('DEBEMAIL') or 'porthole@porthole.invalid'}>"
RUNTIME = ("containerd | containerd.io, runc | containerd.io, containernetworking-plugins, nftables, iptables, iproute2, conntrack, procps, kmod, e2fsprogs, "
           "ca-certificates")
# What the guides' commands name; the package has it at the same paths, below the folder of its documentation.
GUIDE_FILES = ["samples", "packaging/windows/examples/foreign-cluster.yaml", "packaging/image_archive.py", "packaging/windows_images/build.py",
               "packaging/windows_images/windows_image.py", "packaging/wine_root.py"]
WINDOWS_NAMES = ["kubelet.exe", "kube-proxy.exe", "kubeadm.exe", "flanneld.exe"]  # of kubernetes/node/bin
CNI_NAMES = ["win-bridge.exe", "win-overlay.exe", "wincni.exe", "flannel.exe", "host-local.exe"]


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()


class Release:
    """What the tree says of itself: version, commit, time."""

    def __init__(self):
        base = re.search(r"project\(porthole VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.commit = git("rev-parse", "HEAD")
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or git("show", "-s", "--format=%ct", "HEAD"))
        self.version = version_of(base, git("tag", "--points-at", "HEAD").split(), self.epoch, self.commit)
        self.date = time.strftime("%Y-%m-%d", time.gmtime(self.epoch))


def version_of(base, tags, epoch, commit):
    """The release where the commit has its tag; otherwise a version that sorts before it, and after those of older commits."""
    if f"v{base}" in tags:
        return base
    return f"{base}~git{time.strftime('%Y%m%d%H%M%S', time.gmtime(epoch))}.{commit[:7]}"


class Tree:
    """Files of a package: in a folder, with the times and rights that it will have."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def add(self, path, data, mode=0o644):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data if isinstance(data, bytes) else data.encode())
        target.chmod(mode)

    def link(self, path, to):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(to)

    def files(self):
        return sorted(path for path in self.folder.rglob("*") if path.is_file() or path.is_symlink())

    def digests(self):
        """Of the programs."""
        found = {}
        for path in self.files():
            if not path.is_symlink() and (path.stat().st_mode & 0o111 or path.suffix == ".exe"):
                data = path.read_bytes()
                found[str(path.relative_to(self.folder))] = {"sha256": hashlib.sha256(data).hexdigest(), "sha1": hashlib.sha1(data).hexdigest()}
        return found

    def freeze(self, epoch):
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
            os.utime(path, (epoch, epoch), follow_symlinks=False)


def guide_files():
    """The paths, in the tree, of all files below GUIDE_FILES."""
    found = [ROOT / name for name in GUIDE_FILES]
    found = [path for one in found for path in ([one] if one.is_file() else one.rglob("*")) if path.is_file()]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def zipped(text):
    """Level 6: 9 takes twice the time for half a percent."""
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", compresslevel=6, mtime=0) as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())
    return data.getvalue()


def stripped(program):
    """Bytes of the program without symbols, which are no use to whoever has not built it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "program"
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, program], check=True)
        return copy.read_bytes()


def copyright_text(licences):
    return ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: porthole\n\nFiles: *\n"
            "Copyright: the authors of Porthole\nLicense: Apache-2.0\n On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.\n" + licences)


def library_licences(libraries, texts):
    """What is linked in, and the texts of the licences."""
    lines = ["\nThe programs hold these libraries, each under its own licence, whose text follows:"]
    lines += [f" {one['name']} {one['version']}: {one['licence']}" for one in libraries]
    return "\n".join([*lines, "", texts])


def control(name, version, architecture, relations, summary, description, size):
    """`relations`: Depends, Recommends and so on."""
    fields = {"Package": name, "Version": version, "Architecture": architecture, "Maintainer": MAINTAINER, "Installed-Size": str(size),
              "Section": "admin", "Priority": "optional", **relations}
    lines = [f"{key}: {value}" for key, value in fields.items()]
    return "\n".join([*lines, f"Description: {summary}", *[f" {line or '.'}" for line in description.splitlines()]]) + "\n"


def make_deb(output, tree, epoch, scripts=None, **fields):
    size = sum(path.lstat().st_size for path in tree.files()) // 1024 + 1
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree.folder)}\n" for path in tree.files() if not path.is_symlink())
    tree.add("DEBIAN/control", control(size=size, **fields))
    tree.add("DEBIAN/md5sums", sums)
    for name, text in (scripts or {}).items():
        tree.add(f"DEBIAN/{name}", text, 0o755)
    tree.freeze(epoch)
    path = output / f"{fields['name']}_{fields['version']}_{fields['architecture']}.deb"
    # One thread: more of them cut the data into pieces by the number of processors.
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", tree.folder, path], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
    return path


def make_tarball(path, folder, tree, epoch, links=()):
    """`links`: pairs of a name and the name in the tree that it is a hard link to."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as archive:
        def put(entry, stream=None):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch, 0, 0, "root", "root"
            archive.addfile(entry, stream)
        for file in tree.files():
            entry = tarfile.TarInfo(f"{folder}/{file.relative_to(tree.folder)}")
            if file.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(file)
                put(entry)
            else:
                entry.size, entry.mode = file.stat().st_size, file.stat().st_mode & 0o777
                put(entry, file.open("rb"))
        for name, target in links:
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.type, entry.linkname, entry.mode = tarfile.LNKTYPE, f"{folder}/{target}", 0o755
            put(entry)
    path.write_bytes(zipped(data.getvalue()))
    return path


class Packager:
    def __init__(self, output, release, options):
        self.output, self.release, self.windows = output, release, options.windows
        self.program = stripped(options.build / "bin/porthole")
        self.help = command_help.describe(str((options.build / "bin/porthole").resolve()))
        linked = materials.linked_packages(options.build, "porthole") | materials.OF_IMAGES
        self.libraries = list(materials.linked_libraries(linked, materials.compiled(options.static_prefix)))
        self.licences = materials.licence_texts([one["package"] for one in self.libraries])
        if self.windows:
            linked = materials.linked_packages(self.windows, "windows_programs")
            self.windows_libraries = list(materials.linked_libraries(linked, materials.compiled(options.windows_prefix)))
            self.windows_licences = materials.licence_texts([one["package"] for one in self.windows_libraries])
        self.changes = (ROOT / "CHANGELOG.md").read_text()

    def take_windows_programs(self, folder):
        """Those of the build, or copies in `folder` that PORTHOLE_SIGN_COMMAND has signed."""
        self.sign_command = os.environ.get(signing.VARIABLE, "")
        self.programs = self.windows / "bin"
        if self.sign_command:
            signing.signed_copies(self.programs, folder, self.sign_command)
            self.programs = folder

    def common_files(self, tree, share):
        """What stands beside the program in the package and in the tarball."""
        for name, text in completions.files(self.help):
            tree.add(f"{share}/{name}", text)
        for name, text in manual.pages(self.help, self.release.version, self.release.date):
            tree.add(f"{share}/man/man1/{name}.gz", zipped(text))

    def bill(self, name, tree, libraries, licence="Apache-2.0"):
        return materials.document(name, self.release.version, licence, libraries, tree.digests(), self.release.commit, self.release.epoch)

    def porthole_deb(self, folder):
        tree = Tree(folder)
        tree.add("usr/bin/porthole", self.program, 0o755)
        self.common_files(tree, "usr/share")
        for unit in sorted((ROOT / "packaging/systemd").glob("*.service")):
            tree.add(f"usr/lib/systemd/system/{unit.name}", unit.read_bytes())
        tree.add("usr/share/doc/porthole/copyright", copyright_text(library_licences(self.libraries, self.licences)))
        tree.add("usr/share/doc/porthole/changelog.gz", zipped(self.changes))
        tree.add("usr/share/doc/porthole/porthole.spdx.json", self.bill("porthole", tree, self.libraries))
        for guide in sorted((ROOT / "docs/guide").glob("*.md")):
            tree.add(f"usr/share/doc/porthole/guide/{guide.name}", guide.read_bytes())
        for name in guide_files():
            tree.add(f"usr/share/doc/porthole/{name}", (ROOT / name).read_bytes())
        scripts = {path.name: path.read_text() for path in (ROOT / "packaging/linux/scripts").iterdir()}
        return make_deb(self.output, tree, self.release.epoch, scripts, name="porthole", version=self.release.version, architecture="amd64",
                        relations={"Depends": RUNTIME, "Recommends": "porthole-kubectl | kubectl | kubernetes-client, openssh-client", "Suggests": "porthole-windows-node"},
                        summary="Kubernetes-API-compatible cluster in one program",
                        description="Control plane, Linux nodes and emulated Windows nodes on one machine by `porthole up`;\nserver, agent and join for several machines.\n"
                                    "The program is linked statically and runs on Debian 11 and newer.")

    def windows_deb(self, folder):
        tree = Tree(folder)
        names = WINDOWS_NAMES + CNI_NAMES
        tree.add("usr/lib/porthole/windows/porthole.exe", (self.programs / "porthole.exe").read_bytes())
        for name in names:
            tree.link(f"usr/lib/porthole/windows/{name}", "porthole.exe")
        for extra in sorted(self.programs.iterdir()):
            if extra.suffix in (".exe", ".dll") and extra.name not in [*names, "porthole.exe"] and not extra.name.endswith("_test.exe"):
                tree.add(f"usr/lib/porthole/windows/{extra.name}", extra.read_bytes())
        tree.add("usr/share/doc/porthole-windows-node/copyright", copyright_text(library_licences(self.windows_libraries, self.windows_licences)))
        tree.add("usr/share/doc/porthole-windows-node/changelog.gz", zipped(self.changes))
        tree.add("usr/share/doc/porthole-windows-node/porthole-windows-node.spdx.json", self.bill("porthole-windows-node", tree, self.windows_libraries))
        return make_deb(self.output, tree, self.release.epoch, name="porthole-windows-node", version=self.release.version, architecture="all",
                        relations={"Depends": f"porthole (= {self.release.version}), wine64"},
                        summary="Windows programs for Porthole's emulated Windows nodes",
                        description="The .exe files of a Windows node. With Wine they run on emulated hosts of this machine:\nporthole up --nodes linux=1,windows=1.")

    def kubectl_deb(self, folder, kubectl):
        tree = Tree(folder)
        tree.add("usr/bin/kubectl", pathlib.Path(kubectl).read_bytes(), 0o755)
        version, found = kubectl_licences.modules(kubectl)
        modules = list(kubectl_licences.licence_files(found))
        tree.add("usr/share/doc/porthole-kubectl/copyright", kubectl_licences.texts(modules))
        tree.add("usr/share/doc/porthole-kubectl/changelog.gz", zipped(self.changes))
        libraries = [{"name": name, "version": one, "licence": kubectl_licences.expression(name, files), "purl": f"pkg:golang/{name}@{one}"}
                     for name, one, files in modules]
        tree.add("usr/share/doc/porthole-kubectl/porthole-kubectl.spdx.json", materials.document(
            "porthole-kubectl", version, "Apache-2.0", libraries, tree.digests(), self.release.commit, self.release.epoch))
        completion = {"bash": "usr/share/bash-completion/completions/kubectl", "zsh": "usr/share/zsh/vendor-completions/_kubectl",
                      "fish": "usr/share/fish/vendor_completions.d/kubectl.fish"}
        for shell, path in completion.items():
            tree.add(path, subprocess.run([kubectl, "completion", shell], check=True, capture_output=True).stdout)
        others = "kubernetes-client, kubectl"
        # The version of kubectl leads; ours tells builds of the same one apart.
        return make_deb(self.output, tree, self.release.epoch, name="porthole-kubectl", version=f"{version.lstrip('v')}+porthole{self.release.version}",
                        architecture="amd64", relations={"Conflicts": others, "Replaces": others, "Provides": others, "Suggests": "bash-completion"},
                        summary=f"upstream's kubectl {version}, as Porthole's tests use it",
                        description="Kubernetes' command-line client, built from the Go modules k8s.io/kubectl without changes.\nDebian 12 has version 1.20 only.")

    def linux_tarball(self, folder):
        tree = Tree(folder)
        tree.add("bin/porthole", self.program, 0o755)
        self.common_files(tree, "share")
        for unit in sorted((ROOT / "packaging/systemd").glob("*.service")):
            tree.add(f"lib/systemd/system/{unit.name}", unit.read_bytes())
        tree.add("LICENSE", (ROOT / "LICENSE").read_bytes())
        tree.add("LICENSES.libraries", self.licences)
        tree.add("CHANGELOG.md", self.changes)
        tree.add("porthole.spdx.json", self.bill("porthole", tree, self.libraries))
        name = f"porthole-{self.release.version}-linux-amd64"
        return make_tarball(self.output / f"{name}.tar.gz", name, tree, self.release.epoch)

    def linux_node_tarball(self, folder):
        """In the shape of upstream's kubernetes-node-linux-amd64.tar.gz."""
        tree = Tree(folder)
        tree.add("node/bin/porthole", self.program, 0o755)
        for role in ("kubelet", "kube-proxy"):
            tree.add(f"node/bin/{role}", f'#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/porthole" {role} "$@"\n', 0o755)
        tree.add("LICENSES/LICENSE", (ROOT / "LICENSE").read_bytes())
        tree.add("LICENSES/libraries", self.licences)
        tree.add("porthole-node.spdx.json", self.bill("porthole-node", tree, self.libraries))
        return make_tarball(self.output / f"porthole-node-{self.release.version}-linux-amd64.tar.gz", "kubernetes", tree, self.release.epoch)

    def windows_node_tarball(self, folder):
        tree = Tree(folder)
        tree.add("node/bin/porthole.exe", (self.programs / "porthole.exe").read_bytes(), 0o755)
        kubectl = ROOT / "build/tools/kubectl.exe"
        if kubectl.exists():
            tree.add("node/bin/kubectl.exe", signing.signed(kubectl.read_bytes(), self.sign_command, kubectl.name), 0o755)
        tree.add("LICENSES/LICENSE", (ROOT / "LICENSE").read_bytes())
        tree.add("LICENSES/libraries", self.windows_licences)
        tree.add("porthole-node.spdx.json", self.bill("porthole-node", tree, self.windows_libraries))
        links = [(f"node/bin/{name}", "node/bin/porthole.exe") for name in WINDOWS_NAMES + CNI_NAMES]
        return make_tarball(self.output / f"porthole-node-{self.release.version}-windows-amd64.tar.gz", "kubernetes", tree, self.release.epoch, links)

    def windows_zip(self):
        """What the Windows build packs, and what that does not know: completion for PowerShell and the bill of materials."""
        program = (self.programs / "porthole.exe").resolve()
        data = program.read_bytes()
        digests = {"porthole.exe": {"sha256": hashlib.sha256(data).hexdigest(), "sha1": hashlib.sha1(data).hexdigest()}}
        help = command_help.describe(str(program), help_of=command_help.run_windows_help)
        bill = materials.document("porthole-windows", self.release.version, "Apache-2.0", self.windows_libraries, digests, self.release.commit,
                                  self.release.epoch)
        more = {"porthole/scripts/completion.ps1": completions.powershell(help, "porthole.exe"), "porthole/porthole.spdx.json": bill,
                "porthole/LICENSES.libraries.txt": self.windows_licences}
        target = self.output / f"porthole-{self.release.version}-windows-amd64.zip"
        make_zip.write(target, program)
        with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
            for name, text in more.items():
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return target


def write_sums(output):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(output.iterdir()) if path.name != "SHA256SUMS"]
    (output / "SHA256SUMS").write_text("".join(lines))


def main():
    arguments = argparse.ArgumentParser(description="makes the packages of Porthole")
    arguments.add_argument("output", type=pathlib.Path)
    arguments.add_argument("--build", type=pathlib.Path, required=True, help="folder of the build for Linux")
    arguments.add_argument("--static-prefix", type=pathlib.Path, required=True, help="folder of the libraries that cmake/static has compiled for it")
    arguments.add_argument("--windows", type=pathlib.Path, help="folder of the Windows build")
    arguments.add_argument("--windows-prefix", type=pathlib.Path, help="folder of the libraries that were compiled for it")
    arguments.add_argument("--kubectl", type=pathlib.Path)
    options = arguments.parse_args()

    shutil.rmtree(options.output, ignore_errors=True)
    options.output.mkdir(parents=True)
    os.umask(0o022)
    packager = Packager(options.output, Release(), options)
    with tempfile.TemporaryDirectory() as work:
        def folder(name):
            (pathlib.Path(work) / name).mkdir()
            return pathlib.Path(work) / name
        packager.porthole_deb(folder("deb"))
        packager.linux_tarball(folder("tarball"))
        packager.linux_node_tarball(folder("node"))
        if options.windows:
            packager.take_windows_programs(pathlib.Path(work) / "signed")
            packager.windows_deb(folder("windows"))
            packager.windows_node_tarball(folder("windows-node"))
            packager.windows_zip()
        if options.kubectl:
            packager.kubectl_deb(folder("kubectl"), options.kubectl)
    write_sums(options.output)
    for path in sorted(options.output.iterdir()):
        print(f"{path.stat().st_size:>10}  {path}")


if __name__ == "__main__":
    main()
