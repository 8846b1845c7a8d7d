"""A control plane and a node as units of systemd, on one machine."""

from machine import IMAGE, MachineTest

# Containerd is Debian's here, and wants a sandbox image that no registry brings: any that sleeps will do.
SANDBOX_IMAGE = f"""ctr --namespace k8s.io images import /files/busybox.tar
ctr --namespace k8s.io images tag {IMAGE} $(containerd config dump | sed -n 's/ *sandbox_image = "\\(.*\\)"/\\1/p')
"""


class JoinOnDebian12(MachineTest):
    # JOI-20
    def test_a_machine_joins_and_is_a_node_after_a_reboot(self):
        machine = self.start_machine()
        machine.run("echo 'PORTHOLE_SERVER_OPTIONS=--advertise-address 10.0.2.15' >/etc/default/porthole-server\nsystemctl enable --now porthole-server\n"
                    "until porthole kubeconfig --merge; do sleep 1; done")
        machine.run(SANDBOX_IMAGE + "$(porthole token create --print-join-command)")
        machine.kubectl("wait --for=create --timeout=60s node/machine && kubectl wait --for=condition=Ready --timeout=300s node/machine", seconds=360)
        machine.start_pod("web")
        before = machine.kubectl("get pods -o jsonpath={.items[*].metadata.uid}")

        machine.reboot()
        self.assertEqual(machine.run("systemctl is-active porthole-server porthole-agent").split(), ["active", "active"])
        machine.wait_for_api()
        machine.wait_for_pod("web")
        self.assertEqual(machine.kubectl("get pods -o jsonpath={.items[*].metadata.uid}"), before)

        machine.run("porthole reset")
        self.assertEqual(machine.run("systemctl is-active porthole-agent || true").strip(), "inactive")


class JoinOnDebian13(JoinOnDebian12):
    suite = "trixie"
