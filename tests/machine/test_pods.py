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


# All but writes below /tmp.
PROFILE = """profile no-tmp flags=(attach_disconnected,mediate_deleted) {
  file,
  capability,
  network,
  signal,
  deny /tmp/** w,
}"""


def confined(name, profile="", annotation=""):
    """A pod that may mount, unless AppArmor forbids it."""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, annotations: {{{annotation}}}}}
spec:
  containers: [{{name: c, image: {IMAGE}, command: [sleep, "100000"], securityContext: {{capabilities: {{add: [SYS_ADMIN]}}{profile}}}}}]
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

    def test_a_container_has_the_apparmor_profile_that_it_asks_for(self):
        machine = self.start_machine()
        machine.up()
        machine.run(f"apparmor_parser --add <<'END'\n{PROFILE}\nEND")
        localhost = ", appArmorProfile: {type: Localhost, localhostProfile: %s}"
        pods = [confined("default", ", appArmorProfile: {type: RuntimeDefault}"), confined("free", ", appArmorProfile: {type: Unconfined}"),
                confined("local", localhost % "no-tmp"), confined("absent", localhost % "nothing"),
                confined("old", annotation="container.apparmor.security.beta.kubernetes.io/c: localhost/no-tmp")]
        machine.run(f"kubectl apply -f - <<'END'\n{'---'.join(pods)}\nEND\n"
                    "kubectl wait --for=condition=Ready --timeout=900s pod/default pod/free pod/local pod/old", seconds=120)

        def done(name, command):
            return machine.run(f"kubectl exec {name} -- {command} 2>&1 && echo done || true").strip()
        mount = "mount -t tmpfs none /tmp"
        self.assertRegex(done("default", "cat /proc/self/attr/current"), r"^cri-containerd\.apparmor\.d \(enforce\)")
        self.assertIn("ermission denied", done("default", mount))
        self.assertEqual(done("default", "touch /tmp/new"), "done")
        self.assertEqual(done("free", mount), "done")
        for name in ("local", "old"):
            self.assertRegex(done(name, "cat /proc/self/attr/current"), r"^no-tmp \(enforce\)")
            self.assertIn("ermission denied", done(name, "touch /tmp/new"))
            self.assertEqual(done(name, "touch /new"), "done")
        reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}:{.status.containerStatuses[0].state.waiting.message}"
        machine.run(f"until kubectl get pod absent -o '{reason}' | grep 'CreateContainerError:.*nothing'; do sleep 1; done", seconds=60)


class PodsOnDebian13(PodsOnDebian12):
    suite = "trixie"
