#include "kubelet/container/security_context.h"

#include <algorithm>

namespace porthole::kubelet {
namespace {

const std::vector<std::string> MaskedPaths = {
    "/proc/asound",      "/proc/acpi",        "/proc/kcore", "/proc/keys",    "/proc/latency_stats",           "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",  "/sys/firmware", "/sys/devices/virtual/powercap",
};
const std::vector<std::string> ReadonlyPaths = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};

cri::NamespaceOption namespaces(const core::Pod& pod) {
    cri::NamespaceOption options;
    using Mode = cri::NamespaceMode;
    options.network = pod.spec.host_network ? Mode::Node : Mode::Pod;
    options.ipc = pod.spec.host_ipc ? Mode::Node : Mode::Pod;
    const bool shared = pod.spec.share_process_namespace.value_or(false);
    options.pid = pod.spec.host_pid ? Mode::Node : shared ? Mode::Pod : Mode::Container;
    return options;
}

schema::Box<cri::Int64Value> boxed(const std::optional<std::int64_t>& value) {
    if (!value) return std::nullopt;
    cri::Int64Value box;
    box.value = *value;
    return box;
}

Result<cri::SecurityProfile> seccomp_profile(const schema::Box<core::SeccompProfile>& wanted, const std::string& root, bool by_default) {
    using Type = cri::SecurityProfileProfileType;
    cri::SecurityProfile profile;
    profile.profile_type = Type::Unconfined;
    if (wanted ? wanted->type == core::SeccompProfileType::Unconfined : !by_default) return profile;
    if (!wanted || wanted->type == core::SeccompProfileType::RuntimeDefault) {
        profile.profile_type = Type::RuntimeDefault;
        return profile;
    }
    if (!wanted->localhost_profile || wanted->localhost_profile->empty())
        return Error(Reason::BadRequest, "localhostProfile must be set if seccompProfile type is Localhost.");
    // A profile from anywhere else, a volume of the pod's own even, would allow what the pod's standard forbids.
    const std::string_view path = *wanted->localhost_profile;
    if (path.starts_with('/') || path == ".." || path.starts_with("../") || path.ends_with("/..") || path.contains("/../"))
        return Error(Reason::BadRequest, "localhostProfile must be a relative path that does not contain '..'");
    profile.profile_type = Type::Localhost;
    profile.localhost_ref = root + "/" + *wanted->localhost_profile;
    return profile;
}

schema::Box<cri::SELinuxOption> selinux(const schema::Box<core::SELinuxOptions>& from) {
    if (!from) return std::nullopt;
    cri::SELinuxOption to;
    to.user = from->user;
    to.role = from->role;
    to.type = from->type;
    to.level = from->level;
    return to;
}

/// As pods that no API server has seen may say it: an annotation for each container, from before there was a field.
schema::Box<core::AppArmorProfile> annotated_app_armor(const core::Pod& pod, const std::string& container) {
    const auto found = pod.metadata.annotations.find("container.apparmor.security.beta.kubernetes.io/" + container);
    if (found == pod.metadata.annotations.end()) return std::nullopt;
    const std::string &text = found->second, localhost = "localhost/";
    core::AppArmorProfile profile;
    profile.type = text == "runtime/default" ? "RuntimeDefault" : text == "unconfined" ? "Unconfined" : "Localhost";
    if (profile.type != "Localhost") return profile;
    if (!text.starts_with(localhost)) return std::nullopt;
    profile.localhost_profile = text.substr(localhost.size());
    return profile;
}

void set_app_armor(cri::LinuxContainerSecurityContext& security, const schema::Box<core::AppArmorProfile>& wanted) {
    if (!wanted) return;
    using Type = cri::SecurityProfileProfileType;
    cri::SecurityProfile& profile = security.apparmor.emplace();
    if (wanted->type == "Localhost") {
        profile.profile_type = Type::Localhost;
        profile.localhost_ref = wanted->localhost_profile.value_or("");
    } else {
        profile.profile_type = wanted->type == "Unconfined" ? Type::Unconfined : Type::RuntimeDefault;
    }
    // Runtimes that speak v1alpha2 only, such as Debian 11's, know no other.
    security.apparmor_profile = wanted->type == "Localhost"    ? "localhost/" + profile.localhost_ref
                                : wanted->type == "Unconfined" ? "unconfined"
                                                               : "runtime/default";
}

std::vector<std::int64_t> supplemental_groups(const core::Pod& pod) {
    std::vector<std::int64_t> groups;
    if (!pod.spec.security_context) return groups;
    groups = pod.spec.security_context->supplemental_groups;
    if (pod.spec.security_context->fs_group) groups.push_back(*pod.spec.security_context->fs_group);
    return groups;
}

cri::SupplementalGroupsPolicy groups_policy(const core::Pod& pod) {
    const bool strict = pod.spec.security_context && pod.spec.security_context->supplemental_groups_policy == "Strict";
    return strict ? cri::SupplementalGroupsPolicy::Strict : cri::SupplementalGroupsPolicy::Merge;
}

bool any_privileged(const core::Pod& pod) {
    const std::vector<ContainerSpec> all = all_containers(pod);
    return std::any_of(all.begin(), all.end(), [](const ContainerSpec& spec) {
        return spec.container.security_context && spec.container.security_context->privileged.value_or(false);
    });
}

}  // namespace

core::SecurityContext effective_security_context(const core::Pod& pod, const core::Container& container) {
    core::SecurityContext effective = container.security_context.value_or(core::SecurityContext());
    if (!effective.app_armor_profile) effective.app_armor_profile = annotated_app_armor(pod, container.name);
    if (!pod.spec.security_context) return effective;
    const core::PodSecurityContext& shared = *pod.spec.security_context;
    const auto inherit = [](auto& own, const auto& other) {
        if (!own) own = other;
    };
    inherit(effective.se_linux_options, shared.se_linux_options);
    inherit(effective.windows_options, shared.windows_options);
    inherit(effective.run_as_user, shared.run_as_user);
    inherit(effective.run_as_group, shared.run_as_group);
    inherit(effective.run_as_non_root, shared.run_as_non_root);
    inherit(effective.seccomp_profile, shared.seccomp_profile);
    inherit(effective.app_armor_profile, shared.app_armor_profile);
    return effective;
}

Result<void> verify_non_root(const core::Pod& pod, const core::Container& container, const ImageUser& image_user) {
    const core::SecurityContext effective = effective_security_context(pod, container);
    if (!effective.run_as_non_root.value_or(false)) return {};
    const std::string where = " (pod: \"" + pod_full_text(pod) + "\", container: " + container.name + ")";
    if (effective.run_as_user) {
        if (*effective.run_as_user != 0) return {};
        return Error(Reason::BadRequest, "container's runAsUser breaks non-root policy" + where);
    }
    if (image_user.uid) {
        if (*image_user.uid != 0) return {};
        return Error(Reason::BadRequest, "container has runAsNonRoot and image will run as root" + where);
    }
    if (!image_user.name.empty())
        return Error(Reason::BadRequest, "container has runAsNonRoot and image has non-numeric user (" + image_user.name +
                                             "), cannot verify user is non-root" + where);
    return Error(Reason::BadRequest, "container has runAsNonRoot and image will run as root" + where);
}

Result<cri::LinuxContainerSecurityContext> linux_security_context(const ContainerInputs& in) {
    const core::SecurityContext effective = effective_security_context(in.pod, in.spec.container);
    cri::LinuxContainerSecurityContext security;
    security.privileged = effective.privileged.value_or(false);
    if (effective.capabilities) {
        security.capabilities.emplace();
        security.capabilities->add_capabilities = effective.capabilities->add;
        security.capabilities->drop_capabilities = effective.capabilities->drop;
    }
    security.namespace_options = namespaces(in.pod);
    security.namespace_options->userns_options = in.users;
    if (!in.target_container_id.empty()) {
        security.namespace_options->pid = cri::NamespaceMode::Target;
        security.namespace_options->target_id = in.target_container_id;
    }
    security.selinux_options = selinux(effective.se_linux_options);
    security.run_as_user = boxed(effective.run_as_user);
    security.run_as_group = boxed(effective.run_as_group);
    if (!effective.run_as_user) {
        security.run_as_user = boxed(in.image_user.uid);
        if (!security.run_as_user) security.run_as_username = in.image_user.name;
    }
    security.readonly_rootfs = effective.read_only_root_filesystem.value_or(false);
    security.supplemental_groups = supplemental_groups(in.pod);
    security.supplemental_groups.insert(security.supplemental_groups.end(), in.extra_groups.begin(), in.extra_groups.end());
    security.supplemental_groups_policy = groups_policy(in.pod);
    security.no_new_privs = effective.allow_privilege_escalation == false;
    if (effective.proc_mount.value_or("Default") == "Default") {
        security.masked_paths = MaskedPaths;
        security.readonly_paths = ReadonlyPaths;
    }
    TRY(security.seccomp, seccomp_profile(effective.seccomp_profile, in.seccomp_root, in.seccomp_default));
    set_app_armor(security, effective.app_armor_profile);
    return security;
}

cri::LinuxPodSandboxConfig linux_sandbox_config(const core::Pod& pod) {
    cri::LinuxPodSandboxConfig config;
    cri::LinuxSandboxSecurityContext& security = config.security_context.emplace();
    security.namespace_options = namespaces(pod);
    security.privileged = any_privileged(pod);
    // The sandbox's own process does nothing that needs more.
    security.seccomp.emplace().profile_type = cri::SecurityProfileProfileType::RuntimeDefault;
    security.supplemental_groups = supplemental_groups(pod);
    security.supplemental_groups_policy = groups_policy(pod);
    if (!pod.spec.security_context) return config;
    const core::PodSecurityContext& shared = *pod.spec.security_context;
    security.selinux_options = selinux(shared.se_linux_options);
    security.run_as_user = boxed(shared.run_as_user);
    security.run_as_group = boxed(shared.run_as_group);
    for (const core::Sysctl& sysctl : shared.sysctls) {
        std::string name = sysctl.name;
        std::replace(name.begin(), name.end(), '/', '.');
        config.sysctls[name] = sysctl.value;
    }
    return config;
}

}  // namespace porthole::kubelet
