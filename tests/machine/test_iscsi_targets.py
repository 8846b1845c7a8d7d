"""Targets of iSCSI as disks of an emulated host, by its CSI proxy and Debian's open-iscsi: the machine serves them itself. No cluster."""

import base64
import re
import urllib.parse

from machine import MachineTest

ADDRESS, TARGET, SECRET, MUTUAL = "10.0.2.15", "iqn.2026-11.example:disk", "secret-word-1", "mutual-word-1"
HOST = "/var/lib/lab"
DRIVE = f"{HOST}/C"
STAGED = "C:\\var\\lib\\kubelet\\staged"
SERVE = (f"truncate -s 64M /srv/disk; systemctl start tgt; tgtadm --lld iscsi --op new --mode target --tid 1 -T {TARGET};"
         " tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b /srv/disk; tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL;"
         f" tgtadm --lld iscsi --op new --mode account --user me --password {SECRET}; tgtadm --lld iscsi --op bind --mode account --tid 1 --user me;"
         f" tgtadm --lld iscsi --op new --mode account --user {TARGET} --password {MUTUAL};"
         f" tgtadm --lld iscsi --op bind --mode account --tid 1 --user {TARGET} --outgoing; systemctl start iscsid")
ONE_WAY, MUTUALLY = 1, 2


def varint(number):
    low, rest = number & 127, number >> 7
    return bytes((low | 128,)) + varint(rest) if rest else bytes((low,))


def message(*fields):
    """A protobuf message of (number, value): a number, a text or a message."""
    text = b""
    for number, value in fields:
        if isinstance(value, int):
            text += varint(number << 3) + varint(value)
        else:
            part = value if isinstance(value, bytes) else value.encode()
            text += varint(number << 3 | 2) + varint(len(part)) + part
    return text


PORTAL = message((1, ADDRESS), (2, 3260))


class IscsiTargetsOnDebian12(MachineTest):
    def call(self, method, *fields):
        """Status of the CSI proxy's answer, and its bytes."""
        body = message(*fields)
        request = base64.b64encode(bytes(1) + len(body).to_bytes(4, "big") + body).decode()
        answer = self.machine.run(f"base64 -d <<<'{request}' >/tmp/request; curl -sS -o /tmp/answer -D - --unix-socket {HOST}/csi.sock --http2-prior-knowledge"
                                  " -H 'content-type: application/grpc' -H 'te: trailers' --data-binary @/tmp/request"
                                  f" http://localhost/{method} | grep -i '^grpc-' | tr -d '\\r'; tail -c +6 /tmp/answer | base64 -w0", seconds=120)
        status, _, body = urllib.parse.unquote(answer).rpartition("\n")
        return status, base64.b64decode(body)

    def done(self, method, *fields):
        status, body = self.call(method, *fields)
        self.assertRegex(status, r"(?i)^grpc-status: 0$", method)
        return body

    def connect(self, kind=MUTUALLY, secret=SECRET):
        return self.call("v1alpha2.Iscsi/ConnectTarget", (1, PORTAL), (2, TARGET), (3, kind), (4, "me"), (5, secret))

    def sessions(self):
        return int(self.machine.run("iscsiadm -m session 2>/dev/null | wc -l"))

    # EMU-10, STO-24
    def test_a_target_is_a_disk_of_an_emulated_host(self):
        self.machine = machine = self.start_machine(packages=("tgt", "open-iscsi", "e2fsprogs", "curl", "porthole-windows-node_*.deb"))
        machine.run(SERVE, seconds=60)
        # In a network namespace, as the hosts of a local cluster are; iscsid listens in the machine's own.
        machine.run("ip netns add lab; ip link add lab type veth peer name eth0 netns lab; ip -n lab address add 10.77.0.2/24 dev eth0; ip -n lab link set eth0 up;"
                    " ip -n lab link set lo up; ip link set lab up")
        machine.run(f"systemd-run --quiet --unit lab --setenv=HOME=/root nsenter --net=/run/netns/lab porthole winhost run --name lab-1 --data {HOST}; until [ -S {HOST}/csi.sock ]; do"
                    " systemctl is-active --quiet lab || { journalctl -u lab --no-pager; exit 1; }; sleep 1; done", seconds=180)
        self.done("v1alpha2.Iscsi/AddTargetPortal", (1, PORTAL))
        self.assertIn(TARGET.encode(), self.done("v1alpha2.Iscsi/DiscoverTargetPortal", (1, PORTAL)))
        self.assertIn(ADDRESS.encode(), self.done("v1alpha2.Iscsi/ListTargetPortals"))
        self.done("v1alpha2.Iscsi/SetMutualChapSecret", (1, MUTUAL))
        status, _ = self.connect(secret="another-word-1")
        self.assertRegex(status, r"(?im)^grpc-status: 2$")
        self.assertEqual(self.sessions(), 0)
        status, _ = self.connect()
        self.assertRegex(status, r"(?i)^grpc-status: 0$")
        # Of the emulated host, whose name the target sees.
        self.assertIn("iqn.1991-05.com.microsoft:lab-1", machine.run("tgtadm --lld iscsi --op show --mode target"))
        self.assertEqual(self.done("v1alpha2.Iscsi/GetTargetDisks", (1, PORTAL), (2, TARGET)), message((1, "1")))
        self.done("v1.Disk/PartitionDisk", (1, 1))
        volumes = self.done("v1.Volume/ListVolumesOnDisk", (1, 1)).decode(errors="replace")
        volume = re.search(r"\\\\\?\\Volume\{[^}]*\}\\", volumes).group()
        self.done("v1.Volume/FormatVolume", (1, volume))
        machine.run(f"mkdir -p {DRIVE}/var/lib/kubelet/staged")
        self.done("v1.Volume/MountVolume", (1, volume), (2, STAGED))
        machine.run(f"porthole winhost exec --data {HOST} -- cmd /c 'echo kept>{STAGED}\\file'", seconds=60)
        status, _ = self.call("v1alpha2.Iscsi/DisconnectTarget", (1, PORTAL), (2, TARGET))
        self.assertIn("is mounted at", status)
        self.done("v1.Volume/UnmountVolume", (1, volume), (2, STAGED))
        self.done("v1alpha2.Iscsi/DisconnectTarget", (1, PORTAL), (2, TARGET))
        self.assertEqual(self.sessions(), 0)
        self.assertEqual(machine.run("grep -rl secret-word /etc/iscsi /var/lib/iscsi 2>/dev/null || true").strip(), "")
        self.assertEqual(self.done("v1alpha2.Iscsi/GetTargetDisks", (1, PORTAL), (2, TARGET)), b"")

        # Once more, with another session of the machine, which stays.
        machine.run(f"truncate -s 128M /srv/disk; tgtadm --lld iscsi --op delete --mode logicalunit --tid 1 --lun 1;"
                    " tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b /srv/disk;"
                    f" iscsiadm -m node -o new -T {TARGET} -p {ADDRESS}:3260,1; for pair in authmethod=CHAP username=me password={SECRET}; do"
                    f" iscsiadm -m node -T {TARGET} -p {ADDRESS}:3260 -o update -n node.session.auth.${{pair%%=*}} -v ${{pair#*=}}; done;"
                    f" iscsiadm -m node -T {TARGET} -p {ADDRESS}:3260 --login", seconds=60)
        status, _ = self.connect(ONE_WAY)
        self.assertRegex(status, r"(?i)^grpc-status: 0$")
        self.assertEqual(self.sessions(), 2)
        self.assertEqual(self.done("v1alpha2.Iscsi/GetTargetDisks", (1, PORTAL), (2, TARGET)), message((1, "1")))
        self.done("v1.Volume/MountVolume", (1, volume), (2, STAGED))
        self.assertIn("kept", machine.run(f"porthole winhost exec --data {HOST} -- cmd /c type '{STAGED}\\file'", seconds=60))
        self.done("v1.Disk/Rescan")
        self.done("v1.Volume/ResizeVolume", (1, volume))
        size = int(machine.run(f"stat -f -c '%b %S' {DRIVE}/var/lib/kubelet/staged/ | awk '{{print $1 * $2}}'"))
        self.assertGreater(size, 100 << 20)
        machine.run("systemctl stop lab", seconds=120)
        self.assertEqual(self.sessions(), 1)
        self.assertEqual(machine.run("iscsiadm -m session -P 1 | grep -c 'Iface Name: default'").strip(), "1")


class IscsiTargetsOnDebian13(IscsiTargetsOnDebian12):
    suite = "trixie"
