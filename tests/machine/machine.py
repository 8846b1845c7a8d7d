"""Virtual machines with Debian and its kernel, for what the kernel of a test host lacks or a test must not do to it.

A machine is a QEMU process with two processors, 2 GiB and no way out of it: its network card leads nowhere. Tests run shell scripts in it
by QEMU's guest agent. The disk is an overlay of an image in the cache folder, and ends with the test.
"""

import base64
import contextlib
import ctypes
import fcntl
import hashlib
import json
import mmap
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/packages"), str(ROOT / "packaging")]
from bare_debian import PACKAGES, System, found, run  # noqa: E402
import image_archive  # noqa: E402

CACHE = pathlib.Path(os.environ.get("PORTHOLE_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "porthole") / "machine"
# A /dev/kvm without the processor's help (kvm_pvm, in a machine that is itself virtual) does not get Debian's kernel to start.
KVM = os.access("/dev/kvm", os.R_OK | os.W_OK) and bool(re.search(r"\b(vmx|svm)\b", pathlib.Path("/proc/cpuinfo").read_text()))
PATIENCE = 1 if KVM else 10  # how much longer everything takes where each instruction is translated
if not KVM:
    print("  no working /dev/kvm: QEMU translates each instruction, and a test takes minutes", flush=True)
IMAGE = "porthole.test/busybox:1"
OURS = ["porthole_*.deb", "porthole-kubectl_*.deb"]

# What makes a bare Debian start by itself. All else comes with the packages under test.
SYSTEM = "linux-image-amd64 initramfs-tools systemd-sysv udev dbus qemu-guest-agent apparmor iproute2"
DISK = "8G"
SETTINGS = {
    "etc/fstab": "/dev/vda / ext4 errors=remount-ro 0 1\n",
    "etc/hostname": "machine\n",
    "etc/hosts": "127.0.0.1 localhost\n10.0.2.15 machine\n",
    "etc/resolv.conf": "",
    "etc/machine-id": "",
    "etc/systemd/network/uplink.network": "[Match]\nDriver=virtio_net\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n",
    "var/log/journal/.keep": "",
}
# A kernel that patches its own code can panic where instructions are translated: it starts once more by itself.
COMMAND_LINE = "root=/dev/vda rw console=ttyS0 systemd.show_status=false panic=5"


def counter_khz():
    """How fast this machine's processors count (RDTSC)."""
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as code:
        code.write(b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3")  # rdtsc; shl rdx, 32; or rax, rdx; ret
        place = ctypes.c_char.from_buffer(code)
        count = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))

        def moment():
            """Time and count that belong together: of several, those between which the least has come."""
            readings = [(time.monotonic_ns(), count(), time.monotonic_ns()) for _ in range(100)]
            began, counted, ended = min(readings, key=lambda reading: reading[2] - reading[0])
            return (began + ended) / 2, counted
        began, first = moment()
        time.sleep(0.2)
        ended, last = moment()
        del place
    return round((last - first) * 1e6 / (ended - began))


# Where instructions are translated: the kernel does not trust the processors' counters, although QEMU gives both the host's. It would take
# the time from the HPET, which is a device of QEMU behind one lock: every question for the time left the translated code, and a node was not
# Ready within minutes. It is told how fast they count: it would measure that in a moment in which a busy host may not let it run, and its clock
# was then five times too fast. Mitigations of processors cost three times the kernel's time for a new process and protect nobody here.
TRANSLATED = "" if KVM else f"tsc=reliable tsc_early_khz={counter_khz()} mitigations=off"
# Page tables of four levels, which are walked faster than five. QEMU 7.2 reads the stack of an IRET as the kernel would, which SMAP forbids:
# Wine returns from its system calls by IRET, and the kernel ended every Windows program.
PROCESSOR = "max,-la57,-smap"


class Image:
    """Disks that a machine starts from, and their kernel. `bare` is Debian with the archives of all that the packages under test need,
    `installed` has them installed, and more of Debian's. The latter is made anew for each build of the packages. Both are made of one folder
    with the system, by the processor itself: a machine without KVM installs slowly."""

    def __init__(self, suite, packages, prepare):
        """`packages`: more that are installed, Debian's by name, ours by a pattern of the file's name. `prepare`: a shell script that runs in the
        system after that."""
        self.suite, self.packages, self.prepare = suite, sorted(packages), prepare
        self.ours = [found(pattern) for pattern in OURS]
        relations = [run(["dpkg-deb", "--field", deb, "Depends"]).stdout for deb in self.ours]
        self.folder = CACHE / f"{suite}-{digest(json.dumps([SYSTEM, SETTINGS, DISK, relations]).encode())}"
        self.system, self.bare = self.folder / "system", self.folder / "bare"
        self.build = digest((PACKAGES / "SHA256SUMS").read_bytes())
        self.installed = self.folder / f"installed-{self.build}-{digest(json.dumps([self.packages, prepare]).encode())}"

    @contextlib.contextmanager
    def locked(self):
        CACHE.mkdir(parents=True, exist_ok=True)
        with open(CACHE / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def ensure(self, disk):
        """That `bare` or `installed` is there."""
        with self.locked():
            if not self.system.exists():
                self._make_system()
            if disk.exists():
                return
            for old in set(self.folder.glob("installed-*")) - set(self.folder.glob(f"installed-{self.build}-*")):
                old.unlink()
            with tempfile.TemporaryDirectory(dir=CACHE) as work:
                copy = pathlib.Path(work) / "system"
                run(["cp", "-a", self.system, copy])
                if disk == self.installed:
                    more = [name for name in self.packages if name.endswith(".deb")]
                    installed = System(self.suite, kept=copy)
                    installed.install(*OURS, *more, options=" ".join(set(self.packages) - set(more)))
                    installed.run(self.prepare)
                self._make_disk(copy, pathlib.Path(work) / "disk").rename(disk)

    def _make_system(self):
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            system = System(self.suite, parent=work)
            system.run(f"apt-get update -q && apt-get install -q -y --no-install-recommends {SYSTEM} && systemctl enable systemd-networkd", network=True)
            system.install(*OURS, options="--download-only")
            self.folder.mkdir(exist_ok=True)
            for name in ("vmlinuz", "initrd.img"):
                shutil.copy(system.folder / name, self.folder / name)
            system.folder.rename(self.system)

    @staticmethod
    def _make_disk(system, disk):
        """Filled without being mounted: no loop device, nothing of the machine's changes."""
        for name, text in SETTINGS.items():
            (system / name).parent.mkdir(parents=True, exist_ok=True)
            (system / name).write_text(text)
        (system / "usr/sbin/policy-rc.d").unlink()
        shutil.rmtree(system / "tmp")
        (system / "tmp").mkdir()
        (system / "tmp").chmod(0o1777)
        run(["mkfs.ext4", "-q", "-d", system, disk, DISK])
        return disk


def digest(data):
    return hashlib.sha256(data).hexdigest()[:12]


class Machine:
    """One virtual machine."""

    def __init__(self, image, command_line=""):
        self.image = image
        self.command_line = f"{COMMAND_LINE} {TRANSLATED} {command_line}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-machine-"))
        self.disk, self.console, self.acknowledged, self._agent = (self.folder / name for name in ("disk", "console", "acknowledged", "agent"))
        self._process = None

    def create(self, disk, more_files=()):
        """Makes its disks: an overlay of `disk`, and one that is a tar file of the packages, of an image and of `more_files`."""
        run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", disk, self.disk])
        write_busybox_image(self.folder / "busybox.tar")
        with tarfile.open(self.folder / "files", "w", format=tarfile.GNU_FORMAT) as files:
            for path in (*self.image.ours, self.folder / "busybox.tar", *more_files):
                files.add(path, path.name)

    def start(self):
        self._process = subprocess.Popen([str(word) for word in self._command()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(self.folder / "qemu").open("w"))
        self.wait_until_up()
        # Each time: those on the disk may be of an earlier run.
        self.run("mkdir -p /files; tar -xf /dev/vdb -C /files; chmod 644 /files/*")

    def _command(self):
        def drive(name, file, form, more=""):
            return ["-drive", f"id={name},if=none,file={file},format={form}{more}", "-device", f"virtio-blk-pci,drive={name}"]
        # It ends with this process, also where that is killed.
        return ["setpriv", "--pdeathsig", "KILL",
                "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-sandbox", "on", "-display", "none", "-machine", "q35",
                *(["-accel", "kvm", "-cpu", "host"] if KVM else ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", PROCESSOR]),
                "-smp", "2", "-m", "2048",
                "-kernel", self.image.folder / "vmlinuz", "-initrd", self.image.folder / "initrd.img", "-append", self.command_line,
                # A flush reaches the kernel of this machine, which outlives the process that is killed, and not its disk.
                *drive("disk", self.disk, "qcow2", ",cache=unsafe"), *drive("files", self.folder / "files", "raw", ",readonly=on"),
                # QEMU answers ARP for the gateway and drops everything else.
                "-netdev", "user,id=uplink,restrict=on", "-device", "virtio-net-pci,netdev=uplink,romfile=",
                "-device", "virtio-rng-pci", "-serial", f"file:{self.console}", "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=agent,path={self._agent},server=on,wait=off", "-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
                "-chardev", f"file,id=acknowledged,path={self.acknowledged},append=on", "-device", "virtserialport,chardev=acknowledged,name=acknowledged"]

    def wait_until_up(self):
        """Until systemd has started everything. A unit that failed is an error."""
        deadline = time.monotonic() + 120 * PATIENCE
        while True:
            try:
                state = self.run("systemctl is-system-running --wait || systemctl --failed --no-legend", seconds=60 * PATIENCE).strip()
                break
            except OSError as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"the machine does not start: {error}\n{self.last_words()}") from error
                time.sleep(0.2)
        if state != "running":
            raise AssertionError(f"not everything has started: {state}\n" + self.run("journalctl -b -p warning --no-pager | tail -n 40"))

    def run(self, script, seconds=120):
        """Output of a shell script in it, as root. OSError: nobody there listens (yet)."""
        pid = self._ask("guest-exec", {"path": "/bin/bash", "arg": ["-euc", script], "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                        "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "NO_COLOR=1"], "capture-output": True})["pid"]
        deadline = time.monotonic() + seconds * PATIENCE
        pause = 0.1 * PATIENCE
        while not (status := self._status_of(pid))["exited"]:
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds * PATIENCE} s: {script}\n{self.last_words()}")
            # The agent logs each question, which a machine without KVM is slow at.
            time.sleep(pause)
            pause = min(1.2 * pause, 0.5 * PATIENCE)
        output, errors = (base64.b64decode(status.get(name, "")).decode(errors="replace") for name in ("out-data", "err-data"))
        if status.get("exitcode") != 0:
            raise AssertionError(f"{script}\nended with {status.get('exitcode', status.get('signal'))}:\n{(output + errors)[-3000:]}")
        return output

    def _status_of(self, pid):
        """An agent that does not answer in time is asked again: a busy machine may hold it up for longer than one question waits."""
        try:
            return self._ask("guest-exec-status", {"pid": pid})
        except TimeoutError:
            if self._process.poll() is not None:
                raise
            return {"exited": False}

    def _ask(self, command, arguments):
        """An answer of the guest agent. A connection of its own for each question: the agent is another after a reboot."""
        with socket.socket(socket.AF_UNIX) as connection, contextlib.ExitStack() as stack:
            connection.settimeout(5 * PATIENCE)
            connection.connect(str(self._agent))
            stream = stack.enter_context(connection.makefile("rwb"))
            # What an earlier question has left unread ends before the byte 255.
            stream.write(b'\xff{"execute":"guest-sync-delimited","arguments":{"id":1}}\n')
            stream.flush()
            while (byte := stream.read(1)) != b"\xff":
                if not byte:
                    raise OSError("the agent is gone")
            stream.readline()
            stream.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
            stream.flush()
            answer = json.loads(stream.readline() or b"{}")
        if "return" not in answer:
            raise OSError(f"{command}: {answer.get('error', 'no answer')}")
        return answer["return"]

    def reboot(self):
        """As an administrator does it."""
        before = self.run("cat /proc/sys/kernel/random/boot_id")
        with contextlib.suppress(OSError):  # the agent may be gone before it has answered
            self.run("systemctl reboot --no-block")
        deadline = time.monotonic() + 180 * PATIENCE
        while True:
            with contextlib.suppress(OSError):
                if self.run("cat /proc/sys/kernel/random/boot_id") != before:
                    break
            if time.monotonic() > deadline:
                raise AssertionError(f"the machine does not come back\n{self.last_words()}")
            time.sleep(0.3)
        self.wait_until_up()

    def cut_power(self):
        """What its kernel has not written to the disk is lost."""
        self._process.kill()
        self._process.wait()

    def power_off(self):
        with contextlib.suppress(OSError):
            self.run("systemctl poweroff --no-block")
        self._process.wait(120 * PATIENCE)

    def delete(self):
        if self._process and self._process.poll() is None:
            self.cut_power()
        shutil.rmtree(self.folder, ignore_errors=True)

    def last_words(self):
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in (self.folder / "qemu", self.console) if path.exists())

    # --- Porthole in it ---------------------------------------------------------------------------------------------

    def install(self):
        """The packages under test, from the archives in the image."""
        return self.run("apt-get install -q -y --no-install-recommends /files/*.deb", seconds=300)

    def up(self):
        self.run("porthole up --detach; porthole image load /files/busybox.tar")

    def wait_for_api(self):
        try:
            self.run("until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.5; done", seconds=60)
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + self.run("{ kubectl get --raw /readyz; porthole status; journalctl -b -n 60 --no-pager; } 2>&1 || true")) from None

    def kubectl(self, words, seconds=60):
        return self.run(f"kubectl {words}", seconds)

    def start_pod(self, name, command="sleep 100000", options=""):
        """A pod that runs; of a deployment, so that another takes its place."""
        self.kubectl(f"create deployment {name} --image={IMAGE} {options} -- {command}")
        self.wait_for_pod(name)

    def wait_for_pod(self, name):
        self.kubectl(f"rollout status deployment/{name} --timeout={60 * PATIENCE}s", seconds=90)
        # After a reboot the status is that of before, for a while.
        self.run(f"until kubectl exec deployment/{name} -- true 2>/dev/null; do sleep 0.5; done", seconds=60)


def write_busybox_image(path):
    busybox = ROOT / "build/tools/busybox"
    applets = run([busybox, "--list"]).stdout.split()
    image_archive.write_docker(path, [image_archive.Image(IMAGE, command=["/bin/sleep", "100000"], files={"bin/busybox": (busybox.read_bytes(), 0o755)},
                                                          links={f"bin/{applet}": "busybox" for applet in applets if applet != "busybox"}, folders={"tmp": 0o1777})])


class MachineTest(unittest.TestCase):
    """Tests whose machines end with them."""

    suite = "bookworm"

    def start_machine(self, bare=False, packages=(), prepare="", command_line="", files=()):
        """One with the packages installed, or a `bare` one. `packages`: more that are installed, Debian's by name, ours by
        a pattern of the file's name; `prepare`: a shell script that runs in the system after that, before it is a disk. `command_line`: more of the
        kernel's. `files`: more that are in its folder /files."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to fill a disk with files of root")
        image = Image(self.suite, packages, prepare)
        disk = image.bare if bare else image.installed
        image.ensure(disk)
        machine = Machine(image, command_line)
        self.addCleanup(machine.delete)
        machine.create(disk, files)
        machine.start()
        return machine
