#include <algorithm>
#include <functional>

#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"
#include "objects/pods.h"

namespace porthole::cmd::doctor {
namespace {

struct PodItem {
    Item item;
    const char* remedy;
    bool linux_only;
    std::function<bool(const core::Pod&)> wants;
};

/// Whether any container of the pod is so, those that come first included.
template <class Is>
bool any_container(const core::Pod& pod, Is is) {
    return std::ranges::any_of(pod.spec.containers, is) || std::ranges::any_of(pod.spec.init_containers, is) ||
           std::ranges::any_of(pod.spec.ephemeral_containers, is);
}

bool runs_windows(const core::Pod& pod) {
    const auto selected = pod.spec.node_selector.find("kubernetes.io/os");
    return (pod.spec.os && pod.spec.os->name == "windows") || (selected != pod.spec.node_selector.end() && selected->second == "windows");
}

bool may_be_root(const core::Pod& pod) {
    const auto& above = pod.spec.security_context;
    return any_container(pod, [&](const auto& container) {
        const auto& own = container.security_context;
        const std::optional<bool> non_root = own && own->run_as_non_root ? own->run_as_non_root
                                             : above                     ? above->run_as_non_root
                                                                         : std::nullopt;
        const std::optional<std::int64_t> user = own && own->run_as_user ? own->run_as_user : above ? above->run_as_user : std::nullopt;
        return !non_root.value_or(false) && user.value_or(0) == 0;
    });
}

bool drops_all(const auto& container) {
    const auto& context = container.security_context;
    if (!context || !context->capabilities) return false;
    return std::ranges::find(context->capabilities->drop, "ALL") != context->capabilities->drop.end();
}

bool lacks_seccomp(const core::Pod& pod) {
    const auto& above = pod.spec.security_context;
    const bool common = above && above->seccomp_profile && above->seccomp_profile->type != "Unconfined";
    return any_container(pod, [&](const auto& container) {
        const auto& own = container.security_context;
        if (own && own->seccomp_profile) return own->seccomp_profile->type == "Unconfined";
        return !common;
    });
}

const std::vector<PodItem>& pod_items() {
    static const std::vector<PodItem> Items = {
        {{"5.2.2", "no pod is privileged"},
         "leave out privileged: true",
         true,
         [](const core::Pod& pod) {
             return any_container(pod,
                                  [](const auto& one) { return one.security_context && one.security_context->privileged.value_or(false); });
         }},
        {{"5.2.3", "no pod sees its node's processes"},
         "leave out hostPID: true",
         true,
         [](const core::Pod& pod) { return pod.spec.host_pid; }},
        {{"5.2.4", "no pod shares its node's IPC"},
         "leave out hostIPC: true",
         true,
         [](const core::Pod& pod) { return pod.spec.host_ipc; }},
        {{"5.2.5", "no pod uses its node's network"},
         "leave out hostNetwork: true",
         true,
         [](const core::Pod& pod) { return pod.spec.host_network; }},
        {{"5.2.6", "processes cannot gain more privileges than their parent"},
         "allowPrivilegeEscalation: false",
         true,
         [](const core::Pod& pod) {
             return any_container(pod, [](const auto& one) {
                 return !one.security_context || one.security_context->allow_privilege_escalation.value_or(true);
             });
         }},
        {{"5.2.7", "no container runs as root"}, "runAsNonRoot: true", true, may_be_root},
        {{"5.2.8", "no container can send raw packets"},
         "drop the capability NET_RAW, or ALL",
         true,
         [](const core::Pod& pod) {
             return any_container(pod, [](const auto& one) {
                 const auto& context = one.security_context;
                 const bool dropped = context && context->capabilities &&
                                      std::ranges::find(context->capabilities->drop, "NET_RAW") != context->capabilities->drop.end();
                 return !dropped && !drops_all(one);
             });
         }},
        {{"5.2.9", "containers have no capabilities"},
         "drop ALL, and add what the program needs",
         true,
         [](const core::Pod& pod) { return any_container(pod, [](const auto& one) { return !drops_all(one); }); }},
        {{"5.2.10", "no container is a HostProcess container of Windows"},
         "leave out windowsOptions.hostProcess: true",
         false,
         [](const core::Pod& pod) {
             const auto& above = pod.spec.security_context;
             const bool common = above && above->windows_options && above->windows_options->host_process.value_or(false);
             return common || any_container(pod, [](const auto& one) {
                        const auto& context = one.security_context;
                        return context && context->windows_options && context->windows_options->host_process.value_or(false);
                    });
         }},
        {{"5.2.11", "no pod mounts a directory of its node"},
         "use a persistent volume claim, or an emptyDir",
         false,
         [](const core::Pod& pod) {
             return std::ranges::any_of(pod.spec.volumes, [](const core::Volume& volume) { return volume.host_path.has_value(); });
         }},
        {{"5.2.12", "no pod uses a port of its node"},
         "use a service of type NodePort or LoadBalancer",
         false,
         [](const core::Pod& pod) {
             if (pod.spec.host_network) return false;  // told already
             return any_container(pod, [](const auto& one) {
                 return std::ranges::any_of(one.ports, [](const core::ContainerPort& port) { return port.host_port != 0; });
             });
         }},
        {{"5.6.2", "pods have a seccomp profile"}, "seccompProfile: {type: RuntimeDefault}", true, lacks_seccomp},
        {{"5.6.3", "pods have a security context"},
         "set securityContext: runAsNonRoot, seccompProfile, and in containers capabilities and allowPrivilegeEscalation",
         false,
         [](const core::Pod& pod) {
             const bool common = pod.spec.security_context && !(*pod.spec.security_context == core::PodSecurityContext());
             return !common && any_container(pod, [](const auto& one) { return !one.security_context; });
         }},
    };
    return Items;
}

/// With the kubelets' default, a pod that names no profile has one.
bool seccomp_is_default(const Evidence& evidence) {
    bool any = false;
    for (const KubeletFact& kubelet : evidence.kubelets) {
        if (kubelet.windows) continue;
        any = true;
        const schema::Value* on = kubelet.configuration ? kubelet.configuration->find("seccompDefault") : nullptr;
        if (!on || !on->bool_or(false)) return false;
    }
    return any;
}

}  // namespace

void check_pod_rights(const Evidence& evidence, Findings& findings) {
    for (const PodItem& one : pod_items()) {
        if (std::string_view(one.item.number) == "5.6.2" && seccomp_is_default(evidence)) {
            findings.pass(one.item, "kubelets apply the runtime's profile to pods without one");
            continue;
        }
        std::vector<std::string> found;
        for (const core::Pod& pod : evidence.pods) {
            if (objects::is_terminal(pod)) continue;
            if (one.linux_only && runs_windows(pod)) continue;
            if (one.wants(pod)) found.push_back(name_of(pod));
        }
        findings.none(one.item, Verdict::Warn, std::move(found), "pods that run", one.remedy);
    }
}

}  // namespace porthole::cmd::doctor
