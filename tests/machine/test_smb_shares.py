"""SMB shares of an emulated host, by its CSI proxy: mounted by Debian's mount.cifs from Debian's Samba, in one machine. No cluster."""

import base64
import urllib.parse

from machine import MachineTest

SMB_CONF = """[global]
map to guest = never
smb encrypt = required
[data]
path = /srv/data
read only = no
force user = root
"""
HOST = "/var/lib/lab"
DRIVE = f"{HOST}/C"
REQUEST_FIELDS = {"remote_path": 1, "local_path": 2, "username": 3, "password": 4}


def request(**fields):
    """A message of the CSI proxy, framed as gRPC does, as a shell writes it."""
    message = b"".join(bytes((REQUEST_FIELDS[name] << 3 | 2, len(text))) + text.encode() for name, text in fields.items())
    return base64.b64encode(bytes(1) + len(message).to_bytes(4, "big") + message).decode()


class SmbSharesOnDebian12(MachineTest):
    def call(self, method, **fields):
        """Status and message of the CSI proxy's answer."""
        answer = self.machine.run(f"base64 -d <<<'{request(**fields)}' >/tmp/request; curl -sS -o /dev/null -D - --unix-socket {HOST}/csi.sock --http2-prior-knowledge"
                                  " -H 'content-type: application/grpc' -H 'te: trailers' --data-binary @/tmp/request"
                                  f" http://localhost/v1beta2.Smb/{method} | grep -i '^grpc-' | tr -d '\\r'")
        return urllib.parse.unquote(answer)

    # STO-26
    def test_the_csi_proxy_of_an_emulated_host_shows_a_share(self):
        self.machine = machine = self.start_machine(packages=("samba", "cifs-utils", "curl", "porthole-windows-node_*.deb"))
        machine.run(f"mkdir -p /srv/data/sub; echo served >/srv/data/sub/file; useradd me; cat >/etc/samba/smb.conf <<'END'\n{SMB_CONF}\nEND\n"
                    "printf 'secret-1\\nsecret-1\\n' | smbpasswd -s -a me; systemctl restart smbd")
        machine.run(f"systemd-run --quiet --unit lab --setenv=HOME=/root porthole winhost run --name lab-1 --data {HOST}; until [ -S {HOST}/csi.sock ]; do"
                    " systemctl is-active --quiet lab || { journalctl -u lab --no-pager; exit 1; }; sleep 1; done", seconds=180)
        share = "\\\\10.0.2.15\\data"
        refused = self.call("NewSmbGlobalMapping", remote_path=share, username="me", password="wrong")
        self.assertRegex(refused, r"(?im)^grpc-status: 2$")
        self.assertIn("mount error(13)", refused)
        machine.run(f"mkdir -p {DRIVE}/var/lib/kubelet/staged")
        done = self.call("NewSmbGlobalMapping", remote_path=share + "\\sub", local_path="C:\\var\\lib\\kubelet\\staged", username="me", password="secret-1")
        self.assertRegex(done, r"(?i)^grpc-status: 0$")
        self.assertEqual(machine.run(f"cat {DRIVE}/var/lib/kubelet/staged/file").strip(), "served")
        self.assertIn("served", machine.run(f"porthole winhost exec --data {HOST} -- cmd /c type 'C:\\var\\lib\\kubelet\\staged\\file'"))
        self.assertIn("seal", machine.run("grep ' cifs ' /proc/mounts"))
        machine.run(f"porthole winhost exec --data {HOST} -- cmd /c 'echo written>C:\\var\\lib\\kubelet\\staged\\new'")
        self.assertEqual(machine.run("cat /srv/data/sub/new").strip(), "written")
        # Once more: it is there.
        self.assertRegex(self.call("NewSmbGlobalMapping", remote_path=share, username="me", password="secret-1"), r"(?i)^grpc-status: 0$")
        self.assertEqual(machine.run("grep -c ' cifs ' /proc/mounts").strip(), "1")
        self.assertRegex(self.call("RemoveSmbGlobalMapping", remote_path=share), r"(?i)^grpc-status: 0$")
        self.assertEqual(machine.run("grep -c ' cifs ' /proc/mounts || true").strip(), "0")


class SmbSharesOnDebian13(SmbSharesOnDebian12):
    suite = "trixie"
