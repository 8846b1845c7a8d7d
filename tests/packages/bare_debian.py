"""Bare Debian systems in folders, made by debootstrap from the machine's mirror, and the packages that go into them.

Programs run in namespaces of their own, the network's without an uplink, and end with them; nothing is mounted on the machine itself.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("PORTHOLE_PACKAGES", ROOT / "build/packages"))
MIRROR = os.environ.get("PORTHOLE_MIRROR", "http://deb.debian.org/debian")
SECONDS = 3600

# A root that is a mount of its own: runc moves a container's root by pivot_root, which a chroot does not allow.
ENTER = """set -eu
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/run/lock" "$root/old"
cd "$root"
pivot_root . old
cd /
umount -l /old
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C
"$@"
"""


class System:
    """A bare Debian in a folder."""

    def __init__(self, suite, parent=None, kept=None):
        """`parent`: the folder in which its folder is made. `kept`: its folder, which is made once and outlives the test."""
        if kept and kept.exists():
            self.folder = kept
            return
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"porthole-root-{suite}-", dir=kept.parent if kept else parent))
        try:
            run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "debootstrap", "--variant=minbase", suite, self.folder, MIRROR])
        except BaseException:
            self.delete()
            raise
        self.folder.chmod(0o755)  # as every root directory: containers have users of their own
        # No service is started by an installation.
        policy = self.folder / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        if kept:
            self.folder = self.folder.rename(kept)

    def run(self, script, network=False, seconds=SECONDS):
        """Of a shell in it. `network`: in the machine's own, to install."""
        namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", *([] if network else ["--net"])]
        enter = ENTER if network else f"ip link set lo up\n{ENTER}"  # the machine's program: a bare system has none
        return run(["unshare", *namespaces, "bash", "-c", enter, "enter", self.folder, "sh", "-euc", script], seconds).stdout

    def install(self, *patterns, options=""):
        """Packages of ours, with what apt finds that they need. `options`: more of apt-get's."""
        names = []
        for pattern in patterns:
            package = found(pattern)
            shutil.copy(package, self.folder / "tmp")
            names.append(f"/tmp/{package.name}")
        return self.run(f"apt-get update -q && apt-get install -q -y --no-install-recommends {options} {' '.join(names)}", network=True)

    def delete(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def run(command, seconds=SECONDS):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {result.returncode}:\n{(result.stdout + result.stderr)[-3000:]}")
    return result


def found(pattern):
    packages = sorted(PACKAGES.glob(pattern))
    if not packages:
        raise unittest.SkipTest(f"no {pattern} in {PACKAGES}: ./run package")
    return packages[-1]
