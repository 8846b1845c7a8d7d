"""`porthole provision` with systemd, Debian's OpenSSH server and its sudo. The machine is the administrator's and the host that is set up: they have
nothing in common but a port for SSH, and the administrator's program is not where a host has it."""

import json

from machine import IMAGE, PATIENCE, MachineTest
from test_join import SANDBOX_IMAGE

PACKAGES = ("openssh-server", "sudo")
# A bare host: the package has brought what a node needs, and its program is the administrator's.
BARE = """mkdir /root/lab
cp /usr/bin/porthole /root/lab/porthole
dpkg --purge porthole
useradd --create-home --shell /bin/bash keeper
echo 'keeper ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/keeper
ssh-keygen -q -t ed25519 -N '' -f /root/lab/key
for home in /root /home/keeper; do mkdir -m 700 -p $home/.ssh; cp /root/lab/key.pub $home/.ssh/authorized_keys; done
chown -R keeper: /home/keeper/.ssh
echo "10.0.2.15 $(cut -d ' ' -f 1,2 /etc/ssh/ssh_host_ed25519_key.pub)" >/root/lab/known_hosts
"""
# A line for each thing that a server or a node has made here.
LEFTOVERS = """ls -d /etc/systemd/system/porthole* /etc/systemd/system/*/porthole* /usr/local/bin/* /var/lib/porthole* /run/porthole* /etc/cni/net.d/* 2>/dev/null || true
systemctl list-units --all --plain --no-legend 'porthole*'
systemctl list-unit-files --no-legend 'porthole*' || true
systemctl --failed --plain --no-legend
ps -e -o args= | grep '^/usr/local/bin/porthole' || true
ctr --namespace k8s.io containers list --quiet
ip -brief link | awk '{print $1}' | grep -v -E '^(lo|e[a-z0-9]+)$' || true
nft list ruleset | grep -i porthole || true
awk '{print $5}' /proc/self/mountinfo | grep -E 'porthole|kubelet' || true
find /sys/fs/cgroup -type d -name '*kubepods*'
"""
LOCAL = "/usr/local/bin/porthole"


class ProvisionOnDebian12(MachineTest):
    def setUp(self):
        self.machine = self.start_machine(packages=PACKAGES, prepare=BARE)
        self.machine.run("ss -ltn | grep -q ':22 '")
        self.untouched = self.leftovers()

    def leftovers(self):
        return self.machine.run(LEFTOVERS)

    def provision(self, program="/root/lab/porthole", options="", ready=60 * PATIENCE, fails=False, **spec):
        """What a run with this description has done, and the error that it ended with."""
        described = json.dumps({"apiVersion": "porthole.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": "lab"}, "spec": spec})
        self.machine.run(f"cat >/root/lab/cluster.yaml <<'END'\n{described}\nEND")
        output = self.machine.run(f"{program} provision -f /root/lab/cluster.yaml -o json --ready-timeout {ready}s {options} 2>/root/lab/errors || true", seconds=180)
        events = [json.loads(line) for line in output.splitlines()]
        steps = [event["text"] if event["event"] != "failed" else f"{event['text']}: {event['error']}" for event in events
                 if event["event"] in ("done", "failed", "note")]
        end = events[-1] if events else {"exitCode": 1, "error": self.machine.run("cat /root/lab/errors")}
        if bool(end["exitCode"]) != fails:
            raise AssertionError(f"{output}\n" + self.machine.run("tail -n 5 /root/lab/errors; journalctl -n 40 --no-pager"))
        return steps, end.get("error", "")

    def another_program(self):
        """A build of the same version with other bytes."""
        self.machine.run("cp /root/lab/porthole /root/lab/another; echo another >>/root/lab/another")
        return "/root/lab/another"

    def has_program(self, program):
        return self.machine.run(f"cmp -s {program} {LOCAL} && ls {LOCAL}* || true").split() == [LOCAL]

    def invocation(self, unit):
        """Another one after each start."""
        return self.machine.run(f"systemctl show --property InvocationID --value {unit}").strip()

    def state(self, unit):
        return self.machine.run(f"systemctl is-enabled {unit} || true; systemctl is-active {unit} || true").split()

    def kubectl(self, words, seconds=60):
        return self.machine.run(f"kubectl --kubeconfig /root/lab/lab.kubeconfig {words}", seconds)

    # PRV-01, PRV-07, RUN-10
    def test_a_bare_machine_becomes_a_control_plane(self):
        def plane(**flags):
            return {"controlPlane": {"identityFile": "key", "knownHosts": "known_hosts", "hosts": [{"name": "cp-1", "address": "10.0.2.15"}]},
                    "apiServer": {"extraArgs": flags}, "pools": []}
        end = "use it:  kubectl --kubeconfig /root/lab/lab.kubeconfig get nodes"
        unit = "porthole-server"
        self.assertEqual(self.provision(**plane(), options="--dry-run")[0], ["would set up server cp-1"])
        self.assertEqual(self.leftovers(), self.untouched)
        self.assertEqual(self.provision(**plane())[0], ["server cp-1 ready", "kubeconfig written: /root/lab/lab.kubeconfig", end])
        self.assertEqual(self.state(unit), ["enabled", "active"])
        self.kubectl("create configmap kept --from-literal=key=value")
        before = self.invocation(unit)
        self.assertEqual(self.provision(**plane())[0], ["server cp-1 as described", end])
        self.assertEqual(self.invocation(unit), before, "the server was not started again")

        # Systemd starts it again and again; the words are the server's and not systemd's about it.
        steps, _ = self.provision(**plane(**{"audit-policy-file": "/policy"}), fails=True)
        self.assertRegex(steps[-1], "^server cp-1 upgraded: porthole-server ends again and again; its log ends with: porthole: --audit-policy-file needs "
                         ".*; the old server runs again$")
        self.assertEqual(self.state(unit), ["enabled", "active"])

        another = self.another_program()
        self.assertEqual(self.provision(another, **plane())[0], ["server cp-1 upgraded", end])
        self.assertTrue(self.has_program(another))
        self.machine.reboot()
        self.assertEqual(self.state(unit), ["enabled", "active"])
        self.assertEqual(self.provision(another, **plane())[0], ["server cp-1 as described", end])
        self.assertEqual(self.kubectl("get configmap kept -o jsonpath={.data.key}"), "value")

        # As docs/guide/provision.md says for a whole cluster.
        self.machine.run("systemctl disable --now porthole-server\n"
                         "rm -rf /etc/systemd/system/porthole-server.service /var/lib/porthole /var/lib/porthole-server /usr/local/bin/porthole"
                         " /run/porthole-provision.lock")
        self.assertEqual(self.leftovers(), self.untouched)

    # PRV-01, PRV-03, PRV-07, RUN-10, JOI-19
    def test_a_bare_machine_becomes_a_node_and_leaves_without_leftovers(self):
        machine, unit = self.machine, "porthole-agent"
        pools = {"pools": [{"name": "all", "os": "linux", "user": "keeper", "identityFile": "key", "knownHosts": "known_hosts", "labels": {"tier": "web"},
                            "hosts": [{"name": "n-1", "address": "10.0.2.15"}]}]}
        machine.run("systemd-run --quiet --unit control-plane /root/lab/porthole server --data /root/lab/data --advertise-address 10.0.2.15\n"
                    "until /root/lab/porthole kubeconfig --data /root/lab/data >/root/lab/lab.kubeconfig 2>/dev/null; do sleep 1; done\n" + SANDBOX_IMAGE)
        rights = "--kubeconfig /root/lab/lab.kubeconfig"
        self.assertEqual(self.provision(**pools, options=rights)[0], ["node n-1 Ready"])
        self.assertEqual(self.state(unit), ["enabled", "active"])
        self.assertEqual(self.kubectl("get nodes -l tier=web -o name").split(), ["node/n-1"])
        before = self.invocation(unit)
        self.assertEqual(self.provision(**pools, options=rights)[0], ["node n-1 as described"])
        self.assertEqual(self.invocation(unit), before, "the agent was not started again")

        self.kubectl(f"create deployment web --image={IMAGE} -- sleep 100000")
        self.kubectl(f"rollout status deployment/web --timeout={60 * PATIENCE}s", seconds=90)
        started = "get pods -o jsonpath={.items[*].status.containerStatuses[*].containerID}"
        container = self.kubectl(started)
        another = self.another_program()
        # A program that ends each time it is started, as often as systemd likes.
        machine.run(f"mkdir -p /etc/systemd/system/{unit}.service.d\n"
                    f"command=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/{unit}.service)\n"
                    f"cat >/etc/systemd/system/{unit}.service.d/refuse.conf <<END\n"
                    f"[Service]\nExecStart=\nExecStart=/bin/sh -c 'cmp -s {another} {LOCAL} && exit 1; exec $command'\nEND\nsystemctl daemon-reload")
        steps, _ = self.provision(another, **pools, options=rights, ready=12 * PATIENCE, fails=True)
        self.assertRegex(steps[-1], "^node n-1 upgraded: node n-1 is not Ready in time: .*; the old program runs again$")
        self.assertTrue(self.has_program("/root/lab/porthole"))
        self.assertEqual(self.state(unit), ["enabled", "active"])
        machine.run(f"rm -r /etc/systemd/system/{unit}.service.d; systemctl daemon-reload")
        self.assertEqual(self.provision(another, **pools, options=rights)[0], ["node n-1 upgraded", "node n-1 as described"])
        self.assertTrue(self.has_program(another))
        self.assertEqual(self.kubectl(started), container, "its containers went on")
        self.assertEqual(self.kubectl("get nodes -o jsonpath={.items[*].spec.unschedulable}"), "")

        self.assertEqual(self.provision(another, pools=[], options=rights)[0], ["node n-1 removed"])
        self.assertEqual(self.kubectl("get nodes -o name"), "")
        self.assertEqual(self.leftovers(), self.untouched)


class ProvisionOnDebian13(ProvisionOnDebian12):
    suite = "trixie"
