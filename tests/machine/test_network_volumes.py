"""Volumes of file servers and of targets of block devices: the machine serves them itself, as its network card leads nowhere."""

from machine import IMAGE, MachineTest

ADDRESS, TARGET = "10.0.2.15", "iqn.2026-11.example:disk"
NFS = {"packages": ("nfs-kernel-server",), "source": f"nfs: {{server: {ADDRESS}, path: /srv/share}}",
       "serve": f"mkdir -p /srv/share; chmod 777 /srv/share; echo '/srv/share {ADDRESS}(rw,no_root_squash,no_subtree_check)' > /etc/exports; exportfs -ra",
       "mounts": "grep -c ' nfs4 ' /proc/mounts || true"}
ISCSI = {"packages": ("tgt", "open-iscsi", "e2fsprogs"), "source": f"iscsi: {{targetPortal: {ADDRESS}, iqn: '{TARGET}', lun: 1, chapAuthSession: true, secretRef: {{name: chap, namespace: default}}}}",
         "serve": f"truncate -s 64M /srv/disk; systemctl start tgt; tgtadm --lld iscsi --op new --mode target --tid 1 -T {TARGET};"
                  " tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b /srv/disk; tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL;"
                  " tgtadm --lld iscsi --op new --mode account --user me --password secret-word-1; tgtadm --lld iscsi --op bind --mode account --tid 1 --user me;"
                  " systemctl start iscsid",
         "mounts": "iscsiadm -m session 2>/dev/null | wc -l"}


def manifests(source):
    pod = lambda name: f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers: [{{name: c, image: "{IMAGE}", command: [sleep, "100000"], volumeMounts: [{{name: v, mountPath: /data}}]}}]
  volumes: [{{name: v, persistentVolumeClaim: {{claimName: kept}}}}]
"""
    return f"""
apiVersion: v1
kind: Secret
metadata: {{name: chap}}
type: kubernetes.io/iscsi-chap
stringData: {{node.session.auth.username: me, node.session.auth.password: secret-word-1}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: kept}}
spec:
  capacity: {{storage: 64Mi}}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  {source}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: kept}}
spec: {{accessModes: [ReadWriteMany], storageClassName: "", volumeName: kept, resources: {{requests: {{storage: 64Mi}}}}}}
---{pod("one")}---{pod("two")}"""


class NetworkVolumesOnDebian12(MachineTest):
    def keep_files(self, kind):
        """Two pods share what they write; it is there for those that come later, and the last one leaves nothing on the node."""
        machine = self.start_machine(packages=kind["packages"])
        machine.run(kind["serve"], seconds=60)
        machine.up()
        machine.run(f"kubectl apply -f - <<'END'\n{manifests(kind['source'])}\nEND\nkubectl wait --for=condition=Ready --timeout=900s pod/one pod/two", seconds=120)
        machine.kubectl("exec one -- sh -c 'echo kept > /data/file'")
        self.assertEqual(machine.kubectl("exec two -- cat /data/file").strip(), "kept")
        machine.kubectl("delete pod one --timeout=300s", seconds=90)
        self.assertEqual(machine.kubectl("exec two -- cat /data/file").strip(), "kept")
        machine.kubectl("delete pod two --timeout=300s", seconds=90)
        self.assertEqual(machine.run(kind["mounts"]).strip(), "0")
        self.assertEqual(machine.run("ls /var/lib/porthole/nodes/*/kubelet/plugins/kubernetes.io/iscsi 2>/dev/null | wc -l").strip(), "0")
        machine.run(f"kubectl apply -f - <<'END'\n{manifests(kind['source'])}\nEND\nkubectl wait --for=condition=Ready --timeout=900s pod/one", seconds=120)
        self.assertEqual(machine.kubectl("exec one -- cat /data/file").strip(), "kept")
        return machine

    def test_pods_share_the_files_of_a_server(self):
        machine = self.keep_files(NFS)
        self.assertEqual(machine.run("cat /srv/share/file").strip(), "kept")
        absent = manifests(NFS["source"].replace("/srv/share", "/srv/nothing")).replace("kept", "absent").replace("name: one", "name: three").replace("name: two", "name: four")
        machine.run(f"kubectl apply -f - <<'END'\n{absent}\nEND\nuntil kubectl get events | grep -q 'FailedMount.*pod/three.*mount failed: exit status 32'; do sleep 1; done", seconds=60)

    def test_pods_share_the_file_system_of_a_target(self):
        self.keep_files(ISCSI)


class NetworkVolumesOnDebian13(NetworkVolumesOnDebian12):
    suite = "trixie"
