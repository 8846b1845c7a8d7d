"""Volumes that grow while a pod has them, which needs CAP_SYS_RESOURCE: containers of test machines withhold it."""

from machine import IMAGE, MachineTest

MANIFESTS = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 64Mi}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: user}}
spec:
  containers: [{{name: c, image: "{IMAGE}", command: [sleep, "100000"], volumeMounts: [{{name: v, mountPath: /data}}]}}]
  volumes: [{{name: v, persistentVolumeClaim: {{claimName: data}}}}]
"""


class VolumeGrowthOnDebian12(MachineTest):
    # STO-19
    def test_a_volume_of_the_default_class_grows_while_its_pod_runs(self):
        machine = self.start_machine(packages=("e2fsprogs",))
        self.assertTrue(int(machine.run("sed -n 's/^CapEff:.//p' /proc/self/status").strip(), 16) >> 24 & 1, "root of the machine has CAP_SYS_RESOURCE")
        machine.up()
        machine.run(f"kubectl apply -f - <<'END'\n{MANIFESTS}\nEND\nkubectl wait --for=condition=Ready --timeout=900s pod/user", seconds=120)
        machine.kubectl("exec user -- dd if=/dev/zero of=/data/file bs=1M count=40")
        pod = machine.kubectl("get pod user -o jsonpath='{.metadata.uid} {.status.containerStatuses[0].restartCount}'")
        machine.kubectl("""patch pvc data -p '{"spec":{"resources":{"requests":{"storage":"128Mi"}}}}'""")
        # Volumes of pods that run are looked at every minute.
        machine.run("until [ \"$(kubectl get pvc data -o jsonpath='{.status.capacity.storage}')\" = 128Mi ]; do sleep 1; done", seconds=120)
        machine.kubectl("exec user -- dd if=/dev/zero of=/data/more bs=1M count=60")
        self.assertEqual(machine.kubectl("exec user -- stat -c %s /data/file").strip(), str(40 << 20))
        self.assertEqual(machine.kubectl("get pod user -o jsonpath='{.metadata.uid} {.status.containerStatuses[0].restartCount}'"), pod, "it went on")
        machine.run("until kubectl get events | grep -q 'FileSystemResizeSuccessful.*MountVolume.NodeExpandVolume succeeded'; do sleep 1; done", seconds=30)
        machine.kubectl("delete pod user --timeout=300s", seconds=90)
        machine.run("e2fsck -f -n /var/lib/porthole/nodes/*/kubelet/local-volumes/*/image")


class VolumeGrowthOnDebian13(VolumeGrowthOnDebian12):
    suite = "trixie"
