"""A cluster on a machine that loses its power."""

import time

from machine import PATIENCE, MachineTest

# Writes without pause. A name is passed on, out of the machine, once the API server has acknowledged it.
WRITER = """
for number in $(seq 100000); do
    kubectl create configmap written-$number --from-literal=number=$number >/dev/null
    echo written-$number >/dev/virtio-ports/acknowledged
done
"""
ENOUGH = 25


class PowerCutOnDebian12(MachineTest):
    def test_nothing_acknowledged_is_lost(self):
        machine = self.start_machine()
        machine.up()
        machine.start_pod("web")
        machine.run(f"cat >/root/writer <<'END'\n{WRITER}\nEND\nsystemd-run --quiet --setenv=KUBECONFIG=/root/.kube/config sh -eu /root/writer")
        deadline = time.monotonic() + 60 * PATIENCE
        while len(machine.acknowledged.read_text().splitlines()) < ENOUGH:
            self.assertLess(time.monotonic(), deadline, "nothing is written")
            time.sleep(0.05)
        machine.cut_power()
        acknowledged = machine.acknowledged.read_text().split()  # whatever reached it until then
        machine.start()
        machine.wait_for_api()
        kept = machine.kubectl("get configmaps -o name").split()
        self.assertEqual(sorted(set(acknowledged) - {name.removeprefix("configmap/") for name in kept}), [])
        self.assertGreaterEqual(len(acknowledged), ENOUGH)
        machine.wait_for_pod("web")
        machine.kubectl("create configmap after --from-literal=key=value")


class PowerCutOnDebian13(PowerCutOnDebian12):
    suite = "trixie"
