"""A cluster on a machine that an administrator reboots."""

from machine import MachineTest


class RebootOnDebian12(MachineTest):
    def test_the_cluster_comes_back_with_its_pods(self):
        machine = self.start_machine()
        machine.up()
        machine.start_pod("web")
        machine.kubectl("create configmap kept --from-literal=key=value")
        # The first time the cluster was started by a shell, the second time by systemd.
        for started_by in ("a shell", "systemd"):
            with self.subTest(started_by):
                machine.reboot()
                self.assertEqual(machine.run("systemctl is-active porthole.service").strip(), "active")
                machine.wait_for_api()
                self.assertEqual(machine.kubectl("get configmap kept -o jsonpath={.data.key}"), "value")
                machine.wait_for_pod("web")
                self.assertNotIn("timed out", machine.run("journalctl -b -1 -u porthole.service --no-pager || true"))


class RebootOnDebian13(RebootOnDebian12):
    suite = "trixie"
