"""Pods under Debian's own kernel, with cgroup v2 below systemd, and AppArmor."""

from machine import IMAGE, MachineTest

LIMITED = f"""
apiVersion: v1
kind: Pod
metadata: {{name: limited}}
spec:
  containers:
  - name: one
    image: {IMAGE}
    command: [sleep, "100000"]
    resources: {{limits: {{memory: 64Mi, cpu: 500m}}}}
"""


class PodsOnDebian12(MachineTest):
    def test_a_pod_has_its_limits_and_is_confined(self):
        machine = self.start_machine()
        self.assertEqual(machine.run("stat -f -c %T /sys/fs/cgroup").strip(), "cgroup2fs")
        machine.up()
        self.assertEqual(machine.run("systemctl is-enabled porthole.service").strip(), "enabled")
        machine.run(f"kubectl apply -f - <<'END'\n{LIMITED}\nEND\nkubectl wait --for=condition=Ready --timeout=300s pod/limited", seconds=320)
        read = lambda path: machine.kubectl(f"exec limited -- cat {path}").strip()
        self.assertEqual(read("/sys/fs/cgroup/memory.max"), str(64 << 20))
        self.assertEqual(read("/sys/fs/cgroup/cpu.max"), "50000 100000")
        self.assertRegex(read("/proc/self/attr/current"), r"^cri-containerd\.apparmor\.d \(enforce\)$")
        # Systemd may reload and clean up as it likes: what it does not know of is not in its way.
        machine.run("systemctl daemon-reload; systemctl restart systemd-journald")
        self.assertEqual(read("/sys/fs/cgroup/memory.max"), str(64 << 20))


class PodsOnDebian13(PodsOnDebian12):
    suite = "trixie"
