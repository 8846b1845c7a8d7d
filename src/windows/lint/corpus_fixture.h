#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

/// Valid manifests: every kind that creates pods, every way to name a system, and every feature of pods of that system.
namespace porthole::windows::lint::corpus {

/// One manifest.
struct Manifest {
    std::string name, text;
};

/// `text` with every line moved to the right.
inline std::string indented(std::string_view text, std::size_t blanks) {
    std::string made;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        made += std::string(blanks, ' ') + std::string(text.substr(0, end));
        text.remove_prefix(end);
    }
    return made;
}

/// Part of a pod's spec.
struct Part {
    const char *name, *spec;  ///< lines of the spec
    const char* container;    ///< lines of its container
};

inline constexpr Part WindowsSystems[] = {
    {"name", "os: {name: windows}\nnodeSelector: {kubernetes.io/os: windows}\n", ""},
    {"selector", "nodeSelector:\n  kubernetes.io/os: windows  # stable\n", ""},
    {"selector and toleration",
     "nodeSelector:\n  kubernetes.io/os: windows\ntolerations:\n- key: os\n  operator: Equal\n  value: windows\n  effect: NoSchedule\n",
     ""},
    {"build", "nodeSelector:\n  kubernetes.io/os: windows\n  node.kubernetes.io/windows-build: '10.0.20348'\n", ""},
    {"affinity",
     "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n      - "
     "matchExpressions:\n"
     "        - key: kubernetes.io/os\n          operator: In\n          values: [windows]\n",
     ""},
    {"image", "hostname: server\n", "image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022\n"},
};

inline constexpr Part WindowsFeatures[] = {
    {"nothing", "", ""},
    {"resources", "", "resources:\n  requests: {cpu: 100m}\n  limits: {memory: 800Mi, cpu: '2'}\n"},
    {"account", "securityContext:\n  runAsNonRoot: true\n  windowsOptions:\n    runAsUserName: ContainerUser\n", ""},
    {"account of the container", "", "securityContext:\n  windowsOptions: {runAsUserName: 'NT AUTHORITY\\NETWORK SERVICE'}\n"},
    {"gmsa", "securityContext:\n  windowsOptions:\n    gmsaCredentialSpecName: web\n", ""},
    {"host process",
     "hostNetwork: true\nsecurityContext:\n  windowsOptions:\n    hostProcess: true\n    runAsUserName: 'NT AUTHORITY\\SYSTEM'\n", ""},
    {"empty directory", "volumes:\n- name: v\n  emptyDir: {}\n", "volumeMounts:\n- name: v\n  mountPath: C:\\scratch\n"},
    {"config map", "volumes:\n- name: v\n  configMap:\n    name: settings\n    defaultMode: 420\n",
     "volumeMounts:\n- {name: v, mountPath: /config, readOnly: true}\n"},
    {"secret with items", "volumes:\n- name: v\n  secret:\n    secretName: s\n    items:\n    - key: a\n      path: b\n",
     "volumeMounts:\n- {name: v, mountPath: 'C:\\secret'}\n"},
    {"projected",
     "volumes:\n- name: v\n  projected:\n    sources:\n    - serviceAccountToken: {path: token}\n    - downwardAPI:\n        items:\n"
     "        - path: labels\n          fieldRef: {fieldPath: metadata.labels}\n",
     "volumeMounts:\n- {name: v, mountPath: 'C:\\pod'}\n"},
    {"named pipe", "volumes:\n- name: v\n  hostPath: {path: '\\\\.\\pipe\\containerd-containerd'}\n",
     "volumeMounts:\n- {name: v, mountPath: '\\\\.\\pipe\\containerd-containerd'}\n"},
    {"host directory", "volumes:\n- name: v\n  hostPath: {path: 'C:\\logs', type: DirectoryOrCreate}\n",
     "volumeMounts:\n- {name: v, mountPath: 'C:\\logs'}\n"},
    {"claim", "volumes:\n- name: v\n  persistentVolumeClaim: {claimName: data}\n", "volumeMounts:\n- {name: v, mountPath: 'D:\\data'}\n"},
    {"csi", "volumes:\n- name: v\n  csi: {driver: smb.csi.k8s.io}\n", "volumeMounts:\n- {name: v, mountPath: 'S:'}\n"},
    {"probes", "",
     "livenessProbe:\n  httpGet: {path: /healthz, port: 80}\n  periodSeconds: 5\nreadinessProbe:\n  tcpSocket: {port: 80}\nstartupProbe:\n"
     "  exec: {command: [cmd.exe, /c, exit, '0']}\n"},
    {"hooks", "terminationGracePeriodSeconds: 60\n",
     "lifecycle:\n  preStop:\n    exec:\n      command:\n      - powershell.exe\n      - -Command\n      - |\n        Stop-Service web\n   "
     "     exit 0\n"},
    {"environment", "",
     "env:\n- {name: Logging__Level, value: 'a:b'}\n- name: NODE\n  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}\n"},
    {"ports", "", "ports:\n- containerPort: 80\n  hostPort: 8080\n- {containerPort: 53, protocol: UDP}\n"},
    {"init container",
     "initContainers:\n- name: init\n  image: mcr.microsoft.com/windows/nanoserver:ltsc2022\n  command: [cmd, /c, echo, é]\n", ""},
    {"dns", "dnsPolicy: None\ndnsConfig:\n  nameservers: [10.96.0.10]\n  searches: [default.svc.cluster.local]\n", ""},
};

inline constexpr Part LinuxSystems[] = {
    {"name", "os: {name: linux}\nnodeSelector: {kubernetes.io/os: linux}\n", ""},
    {"selector", "nodeSelector:\n  kubernetes.io/os: linux\n", ""},
    {"nothing", "restartPolicy: Always\n", ""},
};

inline constexpr Part LinuxFeatures[] = {
    {"host", "hostPID: true\nhostIPC: true\nhostNetwork: true\n", "securityContext: {privileged: true}\n"},
    {"security", "securityContext:\n  runAsUser: 1000\n  fsGroup: 2000\n  seccompProfile: {type: RuntimeDefault}\n",
     "securityContext:\n  readOnlyRootFilesystem: true\n  capabilities: {drop: [ALL]}\n"},
    {"memory", "volumes:\n- name: v\n  emptyDir: {medium: Memory, sizeLimit: 64Mi}\n",
     "volumeMounts:\n- {name: v, mountPath: /dev/shm, subPath: a}\n"},
    {"nfs", "volumes:\n- name: v\n  nfs: {server: files, path: /}\n",
     "volumeMounts:\n- {name: v, mountPath: /v, mountPropagation: Bidirectional}\n"},
    {"devices", "volumes:\n- name: v\n  persistentVolumeClaim: {claimName: raw}\n", "volumeDevices:\n- {name: v, devicePath: /dev/x}\n"},
    {"huge pages", "", "resources:\n  limits: {hugepages-2Mi: 4Mi, memory: 1Gi}\n"},
    {"mode", "volumes:\n- name: v\n  secret: {secretName: s, defaultMode: 0400}\n", "volumeMounts:\n- {name: v, mountPath: /v}\n"},
};

inline std::string spec_of(const Part& system, const Part& feature) {
    std::string container = std::string(system.container) + feature.container;
    if (!container.contains("image:")) container = "image: registry.example.com/app:1.2\n" + container;
    return std::string(system.spec) + "# the program\n" + feature.spec + "containers:\n- name: main\n" + indented(container, 2);
}

/// A kind that has pods, around a spec.
struct Kind {
    const char *name, *head;
    std::size_t indent;  ///< of the spec's lines
    bool restarts;       ///< whether its pods may have the policy Always
};
inline constexpr Kind Kinds[] = {
    {"Pod", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n", 2, true},
    {"Deployment",
     "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  replicas: 2\n  selector:\n    "
     "matchLabels: {app: web}\n"
     "  template:\n    metadata:\n      labels: {app: web}\n    spec:\n",
     6, true},
    {"DaemonSet",
     "# one on each node\napiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: web\nspec:\n  selector: {matchLabels: {app: web}}\n  "
     "template:\n"
     "    metadata:\n      labels:\n        app: web\n    spec:\n",
     6, true},
    {"StatefulSet",
     "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  serviceName: web\n  selector:\n    matchLabels:\n      app: "
     "web\n"
     "  template:\n    metadata: {labels: {app: web}}\n    spec:\n",
     6, true},
    {"ReplicationController",
     "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: web}\nspec:\n  selector: {app: web}\n  template:\n    metadata: "
     "{labels: {app: "
     "web}}\n    spec:\n",
     6, true},
    {"Job", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n", 6, false},
    {"CronJob",
     "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\nspec:\n  schedule: '*/5 * * * *'\n  jobTemplate:\n    spec:\n      "
     "template:\n        spec:\n",
     10, false},
};

/// Calls `visit` with every combination of kinds, systems and features.
template <class Systems, class Features, class Visit>
void for_each(const Systems& systems, const Features& features, const char* system_name, Visit visit) {
    for (const Kind& kind : Kinds)
        for (const Part& system : systems)
            for (const Part& feature : features)
                visit(Manifest{std::string(kind.name) + " for " + system_name + " by " + system.name + ", " + feature.name,
                               kind.head + indented(spec_of(system, feature), kind.indent)});
}

/// More than 900.
inline std::vector<Manifest> manifests() {
    std::vector<Manifest> all;
    const auto add = [&](Manifest one) { all.push_back(std::move(one)); };
    for_each(WindowsSystems, WindowsFeatures, "windows", add);
    for_each(LinuxSystems, LinuxFeatures, "linux", add);
    return all;
}

/// Fields that Windows refuses or ignores, one or several at a time.
inline constexpr Part Faults[] = {
    {"host", "hostPID: true\nhostIPC: true\nhostNetwork: true\nhostUsers: false\nshareProcessNamespace: true\n", ""},
    {"dns", "dnsPolicy: ClusterFirstWithHostNet\n", ""},
    {"security of the pod",
     "securityContext:\n  # numbers\n  runAsUser: 1\n  runAsGroup: 1\n  supplementalGroups: [1, 2]\n  fsGroup: 1\n  fsGroupChangePolicy: "
     "Always\n"
     "  sysctls:\n  - name: a\n    value: b\n  seLinuxOptions:\n    level: s0\n  seccompProfile: {type: RuntimeDefault}\n",
     ""},
    {"security of the container", "",
     "securityContext: {privileged: true, runAsUser: 1, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true, procMount: Default,\n"
     "  allowPrivilegeEscalation: false}\n"},
    {"memory", "volumes:\n- emptyDir:  # scratch\n    medium: Memory\n  name: v\n",
     "volumeMounts:\n- mountPropagation: HostToContainer\n  name: v\n  mountPath: C:\\v\n"},
    {"modes",
     "volumes:\n- name: v\n  configMap: {name: c, defaultMode: 0400, items: [{key: a, path: a, mode: 256}]}\n- name: w\n  projected:\n    "
     "sources:\n"
     "    - secret:\n        name: s\n        items:\n        - key: k\n          mode: 0400\n          path: p\n    defaultMode: 256\n",
     ""},
    {"what only a person can mend", "volumes:\n- name: v\n  nfs: {server: s, path: /}\n",
     "volumeMounts:\n- {name: v, mountPath: 'C:\\v', subPath: a}\nresources: {limits: {hugepages-2Mi: 2Mi}}\n"},
};

inline std::vector<Manifest> faulty_manifests() {
    std::vector<Manifest> all;
    for_each(WindowsSystems, Faults, "windows", [&](Manifest one) { all.push_back(std::move(one)); });
    return all;
}

}  // namespace porthole::windows::lint::corpus
