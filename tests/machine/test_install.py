"""The packages, installed with apt on a Debian that systemd runs."""

from machine import MachineTest


class InstallOnDebian12(MachineTest):
    def test_nothing_is_started_until_it_is_asked_for(self):
        machine = self.start_machine(bare=True)
        machine.install()
        units = machine.run("systemctl list-unit-files --no-legend 'porthole*'").split()[0::3]
        self.assertEqual(units, ["porthole-agent.service", "porthole-server.service", "porthole.service"])
        for unit in units:
            self.assertEqual(machine.run(f"systemctl is-enabled {unit} || true; systemctl is-active {unit} || true").split(), ["disabled", "inactive"], unit)
        self.assertEqual(machine.run("systemd-analyze verify /usr/lib/systemd/system/porthole*.service 2>&1 | grep -i porthole || true"), "")
        self.assertEqual(machine.run("systemctl --failed --no-legend"), "")

    def test_removal_ends_a_cluster_and_keeps_its_data(self):
        machine = self.start_machine()
        machine.up()
        machine.run("apt-get remove -q -y porthole", seconds=180)
        self.assertEqual(machine.run("ls /etc/systemd/system/porthole* 2>/dev/null || true; pgrep -l porthole || true"), "")
        machine.run("test -d /var/lib/porthole")


class InstallOnDebian13(InstallOnDebian12):
    suite = "trixie"
