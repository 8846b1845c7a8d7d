"""Volumes and containers on a machine with SELinux. It is permissive, as Debian's policy has no rules for containers, and no file of its disk
has a label."""

from machine import IMAGE, ROOT, MachineTest

# Debian's policy names these types for containers and their files (lxc_contexts), but leaves out the module that defines them.
POLICY = """cat >/tmp/containers.cil <<'END'
(type container_t)
(roletype system_r container_t)
(typeattributeset domain (container_t))
(type container_file_t)
(roletype object_r container_file_t)
(typeattributeset file_type (container_file_t))
END
semodule --noreload --install=/tmp/containers.cil
"""
# Without the audit's lines: nearly everything would be denied.
COMMAND_LINE = "security=selinux enforcing=0 audit=0"
CONTAINERD = f"""sed -i '/"io.containerd.grpc.v1.cri"\\]/a enable_selinux = true\\nsandbox_image = "{IMAGE}"' /etc/containerd/config.toml
systemctl restart containerd
ctr --namespace k8s.io images import /files/busybox.tar
"""
DRIVER = "selinux.example.com"
# Each volume has a file that is older than all pods.
VOLUMES = f"""modprobe loop
mkdir -p /srv/old /srv/volumes
echo kept >/srv/old/file
for volume in labelled plain; do truncate -s 32M /srv/volumes/$volume.img; mkfs.ext4 -q -d /srv/old /srv/volumes/$volume.img; done
install /files/csi_driver /usr/local/bin
systemd-run --quiet --unit csi-driver csi_driver name={DRIVER} node=machine endpoint=/run/csi.sock storage=/srv/volumes capabilities=1 \
 registration=/var/lib/porthole-agent/kubelet/plugins_registry/csi.sock
"""
DRIVER_OBJECT = f"""
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {{name: {DRIVER}}}
spec: {{attachRequired: false, seLinuxMount: true}}
"""


def claim(name):
    return f"""
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  capacity: {{storage: 32Mi}}
  accessModes: [ReadWriteOncePod]
  storageClassName: ""
  csi: {{driver: {DRIVER}, volumeHandle: {name}, fsType: ext4}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec: {{accessModes: [ReadWriteOncePod], storageClassName: "", volumeName: {name}, resources: {{requests: {{storage: 32Mi}}}}}}
"""


def user(name, volume, options=""):
    """Not by way of the scheduler, which would let no second pod to the volume."""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeName: machine
  terminationGracePeriodSeconds: 1
  securityContext: {{{options}}}
  containers: [{{name: c, image: "{IMAGE}", command: [sleep, "100000"], volumeMounts: [{{name: v, mountPath: /data}}, {{name: e, mountPath: /empty}}]}}]
  volumes: [{{name: v, persistentVolumeClaim: {{claimName: {volume}}}}}, {{name: e, emptyDir: {{}}}}]
"""


def level(text):
    return f'seLinuxOptions: {{level: "{text}"}}'


FIRST, SECOND = "s0:c10,c20", "s0:c30,c40"
FILE = "system_u:object_r:container_file_t:"


class SelinuxOnDebian12(MachineTest):
    def setUp(self):
        self.machine = self.start_machine(packages=("selinux-policy-default", "e2fsprogs", "libre2-9"), prepare=POLICY, command_line=COMMAND_LINE,
                                          files=(ROOT / "build/release/tests/csi_driver",))
        self.assertEqual(self.machine.run("getenforce").strip(), "Permissive")
        self.machine.run("echo 'PORTHOLE_SERVER_OPTIONS=--advertise-address 10.0.2.15' >/etc/default/porthole-server\nsystemctl enable --now porthole-server\n"
                         "until porthole kubeconfig --merge; do sleep 1; done")
        self.machine.run(CONTAINERD + "$(porthole token create --print-join-command)")
        self.machine.run(VOLUMES)
        self.machine.kubectl("wait --for=create --timeout=300s node/machine && kubectl wait --for=condition=Ready --timeout=600s node/machine", seconds=100)

    def apply(self, *manifests):
        self.machine.run(f"kubectl apply -f - <<'END'\n{'---'.join(manifests)}\nEND")

    def wait_for(self, pod):
        self.machine.kubectl(f"wait --for=condition=Ready --timeout=900s pod/{pod}", seconds=100)

    def label_of(self, pod, path):
        """As the pod's container sees it."""
        return self.machine.run(f"id=$(kubectl get pod {pod} -o jsonpath='{{.status.containerStatuses[0].containerID}}')\n"
                                "process=$(ctr --namespace k8s.io tasks ls | awk -v id=${id#containerd://} '$1 == id {print $2}')\n"
                                f"stat -c %C /proc/$process/root{path}").strip()

    def level_of(self, pod):
        """Of the container's processes."""
        label = self.machine.kubectl(f"exec {pod} -- cat /proc/self/attr/current").strip(" \0\n")
        self.assertTrue(label.startswith("system_u:system_r:container_t:s0:"), label)
        return label.removeprefix("system_u:system_r:container_t:")

    def mounts_of(self, volume):
        """Where the node has it, and the options of its file system."""
        device = self.machine.run(f"losetup -n -O NAME -j /srv/volumes/{volume}.img").strip()
        lines = [line.split() for line in self.machine.run("cat /proc/self/mountinfo").splitlines()]
        return {line[4]: line[-1] for line in lines if device and line[-2] == device}

    def assert_mounted(self, volume, option):
        mounts = self.mounts_of(volume)
        self.assertEqual(len(mounts), 2, f"staged and published: {mounts}")
        for options in mounts.values():
            self.assertIn(option, options)
        return mounts

    def test_volumes_have_the_labels_of_their_pods(self):
        context = f'context="{FILE}%s"'
        self.apply(DRIVER_OBJECT, claim("labelled"), claim("plain"), user("first", "labelled", level(FIRST)))
        self.wait_for("first")
        self.assertEqual(self.level_of("first"), FIRST, "the runtime has SELinux on")
        self.assert_mounted("labelled", context % FIRST)
        self.assertEqual(self.label_of("first", "/data/file"), FILE + FIRST)
        self.assertEqual(self.label_of("first", "/empty"), FILE + FIRST, "relabelled by the runtime")

        self.apply(user("second", "labelled", level(SECOND)), user("third", "plain"))
        refusal = f'conflicting SELinux labels of volume labelled: "{FILE}{FIRST}" and "{FILE}{SECOND}"'
        self.machine.run(f"until kubectl get events | grep -F pod/second | grep -F 'FailedMount' | grep -F '{refusal}'; do sleep 1; done", seconds=60)

        # One without a level: the runtime chooses it, and labels file by file.
        self.wait_for("third")
        for options in self.assert_mounted("plain", "seclabel").values():
            self.assertNotIn("context=", options)
        for path in ("/data/file", "/empty", "/etc/hosts", "/dev/termination-log"):
            self.assertEqual(self.label_of("third", path), FILE + self.level_of("third"), path)

        self.machine.kubectl("delete pod first --timeout=300s", seconds=90)
        self.wait_for("second")
        self.assertEqual(self.level_of("second"), SECOND)
        self.assert_mounted("labelled", context % SECOND)
        self.assertEqual(self.label_of("second", "/data/file"), FILE + SECOND)
        self.assertEqual(self.machine.kubectl("exec second -- cat /data/file").strip(), "kept")
        metrics = self.machine.kubectl("get --raw /api/v1/nodes/machine/proxy/metrics").splitlines()
        labels = f'{{access_mode="RWOP",volume_plugin="kubernetes.io/csi/{DRIVER}"}}'
        self.assertIn(f"volume_manager_selinux_volumes_admitted_total{labels} 2", metrics)
        self.machine.kubectl("delete pod second third --timeout=300s", seconds=90)
