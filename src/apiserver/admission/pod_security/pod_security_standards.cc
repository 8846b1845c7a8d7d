#include "apiserver/admission/pod_security/pod_security_standards.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <span>

#include "base/strings.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Names = std::span<const std::string_view>;
using Strings = std::vector<std::string>;

/// The rules that know of pod.spec.os came with this release.
constexpr int WindowsKnown = 25;
/// From this release on the rules know of pod.spec.hostUsers: root of a user namespace has no rights on the node.
constexpr int UsersKnown = 35;

/// One container of any sort.
struct AnyContainer {
    const std::string& name;
    const SecurityContext& security;
    const std::vector<ContainerPort>& ports;
    Strings hosts;  ///< that its probes and hooks call instead of the pod
};

struct Subject {
    const api::meta::v1::ObjectMeta& metadata;
    const PodSpec& spec;
    const PodSecurityContext& security;
    std::vector<AnyContainer> containers;
    int minor;

    bool for_windows() const { return minor >= WindowsKnown && spec.os && spec.os->name == "windows"; }
    bool has_own_users() const { return minor >= UsersKnown && spec.host_users == false; }
};

// --- words

std::string listed_quoted(const Strings& items) { return join(items, ", ", quote); }

/// The first of each, in the order in which they come: a pod has room for thousands.
class Distinct {
public:
    void add(std::string_view item) {
        if (known_.insert(std::string(item)).second) items_.emplace_back(item);
    }
    const Strings& items() const { return items_; }

private:
    Strings items_;
    std::set<std::string, std::less<>> known_;
};

std::string plural(const char* what, const Strings& names) {
    return std::string(what) + (names.size() == 1 ? " " : "s ") + listed_quoted(names);
}

/// `pod and container "a"`, `pod or containers "a", "b"`, `pod`, …
std::string culprits(bool pod, const Strings& containers, const char* link) {
    if (containers.empty()) return "pod";
    return (pod ? std::string("pod ") + link + ' ' : "") + plural("container", containers);
}

bool contains(Names allowed, std::string_view word) { return std::ranges::find(allowed, word) != allowed.end(); }

template <class Predicate>
Strings names_where(const Subject& pod, Predicate predicate) {
    Strings names;
    for (const AnyContainer& container : pod.containers)
        if (predicate(container)) names.push_back(container.name);
    return names;
}

// --- baseline

std::string check_app_armor(const Subject& pod) {
    const auto unconfined = [](const auto& security) {
        return security.app_armor_profile && security.app_armor_profile->type == "Unconfined";
    };
    Strings found;
    const Strings containers = names_where(pod, [&](const AnyContainer& container) { return unconfined(container.security); });
    if (unconfined(pod.security) || !containers.empty())
        found.push_back(culprits(unconfined(pod.security), containers, "and") + " must not set AppArmor profile type to \"Unconfined\"");
    for (const auto& [key, value] : pod.metadata.annotations) {
        const bool named = key.starts_with("container.apparmor.security.beta.kubernetes.io/");
        if (named && !value.empty() && value != "runtime/default" && !value.starts_with("localhost/"))
            found.push_back("annotation " + quote(key) + "=" + quote(value));
    }
    return join(found, ", ");
}

/// The capabilities that containers add beyond `allowed`.
std::string forbidden_capabilities(const Subject& pod, Names allowed) {
    std::set<std::string> added;
    const Strings containers = names_where(pod, [&](const AnyContainer& container) {
        bool found = false;
        if (!container.security.capabilities) return false;
        for (const std::string& capability : container.security.capabilities->add) {
            if (contains(allowed, capability)) continue;
            found = true;
            added.insert(capability);
        }
        return found;
    });
    return containers.empty() ? ""
                              : plural("container", containers) + " must not include " + listed_quoted({added.begin(), added.end()}) +
                                    " in securityContext.capabilities.add";
}

std::string check_capabilities(const Subject& pod) {
    static constexpr std::array<std::string_view, 13> Allowed = {"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE",     "FOWNER",  "FSETID",
                                                                 "KILL",        "MKNOD",  "NET_BIND_SERVICE", "SETFCAP", "SETGID",
                                                                 "SETPCAP",     "SETUID", "SYS_CHROOT"};
    return forbidden_capabilities(pod, Allowed);
}

std::string check_host_namespaces(const Subject& pod) {
    Strings shared;
    if (pod.spec.host_network) shared.emplace_back("hostNetwork=true");
    if (pod.spec.host_pid) shared.emplace_back("hostPID=true");
    if (pod.spec.host_ipc) shared.emplace_back("hostIPC=true");
    return join(shared, ", ");
}

std::string check_host_paths(const Subject& pod) {
    Strings volumes;
    for (const Volume& volume : pod.spec.volumes)
        if (volume.host_path) volumes.push_back(volume.name);
    return volumes.empty() ? "" : plural("volume", volumes);
}

std::string check_host_ports(const Subject& pod) {
    std::vector<std::int32_t> ports;
    const Strings containers = names_where(pod, [&](const AnyContainer& container) {
        bool found = false;
        for (const ContainerPort& port : container.ports) {
            if (port.host_port == 0) continue;
            ports.push_back(port.host_port);
            found = true;
        }
        return found;
    });
    if (containers.empty()) return "";
    std::ranges::sort(ports);
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
    Strings numbers;
    for (const std::int32_t port : ports) numbers.push_back(std::to_string(port));
    return plural("container", containers) + (containers.size() == 1 ? " uses " : " use ") +
           (numbers.size() == 1 ? "hostPort " : "hostPorts ") + join(numbers, ", ");
}

std::string check_privileged(const Subject& pod) {
    const Strings containers =
        names_where(pod, [](const AnyContainer& container) { return container.security.privileged.value_or(false); });
    return containers.empty() ? "" : plural("container", containers) + " must not set securityContext.privileged=true";
}

std::string check_probe_hosts(const Subject& pod) {
    Strings hosts;
    const Strings containers = names_where(pod, [&](const AnyContainer& container) {
        hosts.insert(hosts.end(), container.hosts.begin(), container.hosts.end());
        return !container.hosts.empty();
    });
    if (containers.empty()) return "";
    return plural("container", containers) + (containers.size() == 1 ? " uses" : " use") + " probe or lifecycle host " +
           listed_quoted(hosts);
}

std::string check_proc_mount(const Subject& pod) {
    Distinct kinds;
    const Strings containers = names_where(pod, [&](const AnyContainer& container) {
        const auto& mount = container.security.proc_mount;
        const bool forbidden = mount && *mount != "Default";
        if (forbidden) kinds.add(*mount);
        return forbidden;
    });
    return containers.empty()
               ? ""
               : plural("container", containers) + " must not set securityContext.procMount to " + listed_quoted(kinds.items());
}

std::string check_baseline_proc_mount(const Subject& pod) { return pod.has_own_users() ? "" : check_proc_mount(pod); }

std::string check_selinux(const Subject& pod) {
    static constexpr std::array<std::string_view, 5> Types = {"", "container_t", "container_init_t", "container_kvm_t",
                                                              "container_engine_t"};
    Distinct types;
    bool user = false, role = false;
    const auto forbidden = [&](const auto& security) {
        if (!security.se_linux_options) return false;
        const SELinuxOptions& options = *security.se_linux_options;
        const bool type = !contains(Types, options.type);
        if (type) types.add(options.type);
        user |= !options.user.empty();
        role |= !options.role.empty();
        return type || !options.user.empty() || !options.role.empty();
    };
    const bool of_pod = forbidden(pod.security);
    const Strings containers = names_where(pod, [&](const AnyContainer& container) { return forbidden(container.security); });
    if (!of_pod && containers.empty()) return "";
    Strings what;
    const Strings& listed = types.items();
    if (!listed.empty()) what.push_back((listed.size() == 1 ? "type " : "types ") + listed_quoted(listed));
    if (user) what.emplace_back("user may not be set");
    if (role) what.emplace_back("role may not be set");
    return culprits(of_pod, containers, "and") + " set forbidden securityContext.seLinuxOptions: " + join(what, "; ");
}

bool is_unconfined(const schema::Box<SeccompProfile>& profile) { return profile && profile->type == "Unconfined"; }

std::string forbidden_seccomp(const Subject& pod) {
    const Strings containers =
        names_where(pod, [](const AnyContainer& container) { return is_unconfined(container.security.seccomp_profile); });
    const bool of_pod = is_unconfined(pod.security.seccomp_profile);
    if (!of_pod && containers.empty()) return "";
    return culprits(of_pod, containers, "and") + " must not set securityContext.seccompProfile.type to \"Unconfined\"";
}

std::string check_sysctls(const Subject& pod) {
    struct Allowed {
        std::string_view name;
        int since;
    };
    static constexpr std::array<Allowed, 12> Known = {{{"kernel.shm_rmid_forced", 0},
                                                       {"net.ipv4.ip_local_port_range", 0},
                                                       {"net.ipv4.tcp_syncookies", 0},
                                                       {"net.ipv4.ping_group_range", 0},
                                                       {"net.ipv4.ip_unprivileged_port_start", 0},
                                                       {"net.ipv4.ip_local_reserved_ports", 27},
                                                       {"net.ipv4.tcp_keepalive_time", 29},
                                                       {"net.ipv4.tcp_fin_timeout", 29},
                                                       {"net.ipv4.tcp_keepalive_intvl", 29},
                                                       {"net.ipv4.tcp_keepalive_probes", 29},
                                                       {"net.ipv4.tcp_rmem", 32},
                                                       {"net.ipv4.tcp_wmem", 32}}};
    Strings forbidden;
    for (const Sysctl& sysctl : pod.security.sysctls) {
        const bool fine =
            std::ranges::any_of(Known, [&](const Allowed& allowed) { return allowed.name == sysctl.name && pod.minor >= allowed.since; });
        if (!fine) forbidden.push_back(sysctl.name);
    }
    return join(forbidden, ", ");
}

std::string check_host_process(const Subject& pod) {
    const auto wanted = [](const auto& security) {
        return security.windows_options && security.windows_options->host_process.value_or(false);
    };
    const Strings containers = names_where(pod, [&](const AnyContainer& container) { return wanted(container.security); });
    if (!wanted(pod.security) && containers.empty()) return "";
    return culprits(wanted(pod.security), containers, "and") + " must not set securityContext.windowsOptions.hostProcess=true";
}

// --- restricted

std::string check_privilege_escalation(const Subject& pod) {
    if (pod.for_windows()) return "";
    const Strings containers =
        names_where(pod, [](const AnyContainer& container) { return container.security.allow_privilege_escalation.value_or(true); });
    return containers.empty() ? "" : plural("container", containers) + " must set securityContext.allowPrivilegeEscalation=false";
}

std::string check_restricted_capabilities(const Subject& pod) {
    if (pod.for_windows()) return "";
    static constexpr std::array<std::string_view, 1> Allowed = {"NET_BIND_SERVICE"};
    Strings found;
    const Strings keeping = names_where(pod, [](const AnyContainer& container) {
        const auto& capabilities = container.security.capabilities;
        return !capabilities || std::ranges::find(capabilities->drop, "ALL") == capabilities->drop.end();
    });
    if (!keeping.empty()) found.push_back(plural("container", keeping) + " must set securityContext.capabilities.drop=[\"ALL\"]");
    if (std::string added = forbidden_capabilities(pod, Allowed); !added.empty()) found.push_back(std::move(added));
    return join(found, "; ");
}

std::string check_volume_types(const Subject& pod) {
    static constexpr std::array<std::string_view, 9> Allowed = {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret"};
    Strings volumes, types;
    for (const Volume& volume : pod.spec.volumes) {
        const schema::Value tree = schema::to_value(volume);
        for (const auto& [field, value] : tree.as_object()) {
            if (field == "name" || contains(Allowed, field)) continue;
            volumes.push_back(volume.name);
            if (std::ranges::find(types, field) == types.end()) types.emplace_back(field);
        }
    }
    if (volumes.empty()) return "";
    return plural("volume", volumes) + (volumes.size() == 1 ? " uses" : " use") + " restricted volume type" +
           (types.size() == 1 ? " " : "s ") + listed_quoted(types);
}

std::string check_non_root(const Subject& pod) {
    if (pod.has_own_users()) return "";
    const std::optional<bool>& of_pod = pod.security.run_as_non_root;
    Strings denying = names_where(pod, [](const AnyContainer& container) { return container.security.run_as_non_root == false; });
    const bool pod_denies = of_pod == false;
    const Strings silent = names_where(pod, [](const AnyContainer& container) { return !container.security.run_as_non_root; });
    if (pod_denies && !silent.empty()) return culprits(true, denying, "and") + " must not set securityContext.runAsNonRoot=false";
    if (!denying.empty()) return plural("container", denying) + " must not set securityContext.runAsNonRoot=false";
    if (of_pod.value_or(false) || silent.empty()) return "";
    return culprits(true, silent, "or") + " must set securityContext.runAsNonRoot=true";
}

std::string check_user(const Subject& pod) {
    if (pod.minor < 23 || pod.has_own_users()) return "";
    const Strings containers = names_where(pod, [](const AnyContainer& container) { return container.security.run_as_user == 0; });
    const bool of_pod = pod.security.run_as_user == 0;
    if (!of_pod && containers.empty()) return "";
    return culprits(of_pod, containers, "and") + " must not set runAsUser=0";
}

std::string check_restricted_seccomp(const Subject& pod) {
    if (pod.for_windows()) return "";
    if (std::string forbidden = forbidden_seccomp(pod); !forbidden.empty()) return forbidden;
    if (pod.security.seccomp_profile) return "";
    const Strings silent = names_where(pod, [](const AnyContainer& container) { return !container.security.seccomp_profile; });
    return silent.empty()
               ? ""
               : culprits(true, silent, "or") + " must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
}

// --- the lists

struct Check {
    const char* reason;
    int since;
    std::string (*detail)(const Subject&);
    bool baseline_only = false;  ///< restricted has a stricter one
};

constexpr Check Baseline[] = {
    {"forbidden AppArmor profiles", 0, check_app_armor},
    {"non-default capabilities", 0, check_capabilities, true},
    {"host namespaces", 0, check_host_namespaces},
    {"hostPath volumes", 0, check_host_paths, true},
    {"hostPort", 0, check_host_ports},
    {"privileged", 0, check_privileged},
    {"probe or lifecycle host", 34, check_probe_hosts},
    {"procMount", 0, check_baseline_proc_mount, true},
    {"seLinuxOptions", 0, check_selinux},
    {"seccompProfile", 0, forbidden_seccomp, true},
    {"forbidden sysctls", 0, check_sysctls},
    {"hostProcess", 0, check_host_process},
};

constexpr Check Restricted[] = {
    {"allowPrivilegeEscalation != false", 8, check_privilege_escalation},
    {"unrestricted capabilities", 22, check_restricted_capabilities},
    {"procMount", 0, check_proc_mount},
    {"restricted volume types", 0, check_volume_types},
    {"runAsNonRoot != true", 0, check_non_root},
    {"runAsUser=0", 23, check_user},
    {"seccompProfile", 19, check_restricted_seccomp},
};

void add_host(const schema::Box<HTTPGetAction>& action, Strings& hosts) {
    if (action && !action->host.empty()) hosts.push_back(action->host);
}

void add_host(const schema::Box<TCPSocketAction>& action, Strings& hosts) {
    if (action && !action->host.empty()) hosts.push_back(action->host);
}

template <class C>
AnyContainer any_container(const C& container) {
    static const SecurityContext None;
    AnyContainer any{container.name, container.security_context ? *container.security_context : None, container.ports, {}};
    for (const auto* probe : {&container.liveness_probe, &container.readiness_probe, &container.startup_probe}) {
        if (!*probe) continue;
        add_host((*probe)->http_get, any.hosts);
        add_host((*probe)->tcp_socket, any.hosts);
    }
    if (!container.lifecycle) return any;
    for (const auto* handler : {&container.lifecycle->post_start, &container.lifecycle->pre_stop}) {
        if (!*handler) continue;
        add_host((*handler)->http_get, any.hosts);
        add_host((*handler)->tcp_socket, any.hosts);
    }
    return any;
}

Subject subject_of(const api::meta::v1::ObjectMeta& metadata, const PodSpec& spec, int minor) {
    static const PodSecurityContext None;
    Subject subject{metadata, spec, spec.security_context ? *spec.security_context : None, {}, minor};
    for (const Container& container : spec.init_containers) subject.containers.push_back(any_container(container));
    for (const Container& container : spec.containers) subject.containers.push_back(any_container(container));
    for (const EphemeralContainer& container : spec.ephemeral_containers) subject.containers.push_back(any_container(container));
    return subject;
}

}  // namespace

std::string_view text_of(PodSecurityLevel level) {
    static constexpr std::array<std::string_view, 3> Words = {"privileged", "baseline", "restricted"};
    return Words[static_cast<std::size_t>(level)];
}

std::string PodSecurityPolicy::text() const {
    return std::string(text_of(level)) + ':' + (minor == Latest ? "latest" : "v1." + std::to_string(minor));
}

std::optional<PodSecurityLevel> parse_pod_security_level(std::string_view text) {
    if (text == "privileged") return PodSecurityLevel::Privileged;
    if (text == "baseline") return PodSecurityLevel::Baseline;
    if (text == "restricted") return PodSecurityLevel::Restricted;
    return std::nullopt;
}

std::optional<int> parse_pod_security_version(std::string_view text) {
    if (text == "latest") return PodSecurityPolicy::Latest;
    if (!text.starts_with("v1.")) return std::nullopt;
    text.remove_prefix(3);
    int minor = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), minor);
    const bool plain = error == std::errc() && end == text.data() + text.size() && (text.size() == 1 || text[0] != '0');
    return plain ? std::optional(minor) : std::nullopt;
}

std::vector<PodSecurityViolation> pod_security_violations(const PodSecurityPolicy& policy, const api::meta::v1::ObjectMeta& metadata,
                                                          const PodSpec& spec) {
    std::vector<PodSecurityViolation> violations;
    if (policy.level == PodSecurityLevel::Privileged) return violations;
    const Subject subject = subject_of(metadata, spec, policy.minor);
    const bool restricted = policy.level == PodSecurityLevel::Restricted;
    const auto apply = [&](const Check& check) {
        if (policy.minor < check.since || (restricted && check.baseline_only)) return;
        if (std::string detail = check.detail(subject); !detail.empty()) violations.push_back({check.reason, std::move(detail)});
    };
    std::ranges::for_each(Baseline, apply);
    if (restricted) std::ranges::for_each(Restricted, apply);
    return violations;
}

}  // namespace porthole::apiserver
