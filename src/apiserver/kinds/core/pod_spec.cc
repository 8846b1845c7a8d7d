#include "apiserver/kinds/core/pod_spec.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "apiserver/kinds/core/windows_options.h"
#include "apiserver/strategy/object_meta.h"
#include "apiserver/validation/names.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using schema::Value;

void check_id(const std::optional<std::int64_t>& id, const FieldPath& path, FieldErrors& errors) {
    if (id) invalid_all(errors, path, *id, names::check_in_range(*id, 0, std::numeric_limits<std::int32_t>::max()));
}

void validate_dns(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!is_one_of(spec.dns_policy, {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}))
        errors.not_supported(path / "dnsPolicy", spec.dns_policy, {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"});
    const FieldPath config = path / "dnsConfig";
    if (spec.dns_policy == "None") {
        if (!spec.dns_config) return errors.required(config, "must provide `dnsConfig` when `dnsPolicy` is None");
        if (spec.dns_config->nameservers.empty())
            errors.required(config / "nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
    if (!spec.dns_config) return;
    const auto& [nameservers, searches, options] = *spec.dns_config;
    if (nameservers.size() > 3)
        errors.invalid(config / "nameservers", schema::to_value(*spec.dns_config)["nameservers"], "must not have more than 3 nameservers");
    for (std::size_t i = 0; i < nameservers.size(); ++i)
        invalid_all(errors, (config / "nameservers").index(i), nameservers[i], names::check_ip(nameservers[i]));
    if (searches.size() > 32)
        errors.invalid(config / "searches", schema::to_value(*spec.dns_config)["searches"], "must not have more than 32 search paths");
    for (std::size_t i = 0; i < searches.size(); ++i) {
        std::string search = searches[i];
        if (search == ".") continue;
        if (search.ends_with('.')) search.pop_back();
        invalid_all(errors, (config / "searches").index(i), search, names::check_dns1123_subdomain_with_underscore(search));
    }
    for (std::size_t i = 0; i < options.size(); ++i)
        if (options[i].name.empty()) errors.required((config / "options").index(i));
}

constexpr std::size_t LongestSysctl = 253;

/// Words of lower-case letters, digits, '-' and '_', joined by '.' or '/'; each begins and ends with a letter or digit.
bool is_sysctl_name(std::string_view name) {
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    char before = '.';
    for (const char c : name) {
        const bool joins = c == '.' || c == '/', begins = before == '.' || before == '/';
        if (!is_plain(c) && !joins && c != '-' && c != '_') return false;
        if ((joins && !is_plain(before)) || (begins && !is_plain(c))) return false;
        before = c;
    }
    return is_plain(before) && name.size() <= LongestSysctl;
}

void validate_security(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!spec.security_context) return;
    const PodSecurityContext& context = *spec.security_context;
    check_id(context.run_as_user, path / "runAsUser", errors);
    check_id(context.run_as_group, path / "runAsGroup", errors);
    check_id(context.fs_group, path / "fsGroup", errors);
    for (std::size_t i = 0; i < context.supplemental_groups.size(); ++i)
        check_id(context.supplemental_groups[i], (path / "supplementalGroups").index(i), errors);
    if (spec.share_process_namespace.value_or(false) && spec.host_pid)
        errors.invalid(path / "shareProcessNamespace", true, "ShareProcessNamespace and HostPID cannot both be enabled");
    if (context.fs_group_change_policy && !is_one_of(*context.fs_group_change_policy, {"OnRootMismatch", "Always"}))
        errors.not_supported(path / "fsGroupChangePolicy", *context.fs_group_change_policy, {"Always", "OnRootMismatch"});
    if (context.supplemental_groups_policy && !is_one_of(*context.supplemental_groups_policy, {"Merge", "Strict"}))
        errors.not_supported(path / "supplementalGroupsPolicy", *context.supplemental_groups_policy, {"Merge", "Strict"});
    std::set<std::string> seen;
    for (std::size_t i = 0; i < context.sysctls.size(); ++i) {
        const Sysctl& sysctl = context.sysctls[i];
        const FieldPath at = (path / "sysctls").index(i);
        if (sysctl.name.empty())
            errors.required(at / "name");
        else if (!is_sysctl_name(sysctl.name))
            errors.invalid(at / "name", sysctl.name,
                           "must have at most 253 characters and match regex "
                           "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
        else if (!seen.insert(sysctl.name).second)
            errors.duplicate(at / "name", sysctl.name);
        if (spec.host_network && sysctl.name.starts_with("net."))
            errors.invalid(at / "name", sysctl.name, "may not be specified when 'hostNetwork' is true");
        if (spec.host_ipc && (sysctl.name.starts_with("kernel.shm") || sysctl.name.starts_with("kernel.msg") ||
                              sysctl.name.starts_with("fs.mqueue.") || sysctl.name == "kernel.sem"))
            errors.invalid(at / "name", sysctl.name, "may not be specified when 'hostIPC' is true");
    }
}

struct Refused {
    bool set;
    const char* path;
};

void forbid(std::initializer_list<Refused> fields, const FieldPath& path, std::string_view why, FieldErrors& errors) {
    for (const Refused& field : fields)
        if (field.set) errors.forbidden(path / field.path, why);
}

void validate_windows_container(const schema::Box<SecurityContext>& context, const FieldPath& path, FieldErrors& errors) {
    if (!context) return;
    forbid({{context->app_armor_profile.has_value(), "appArmorProfile"},
            {context->se_linux_options.has_value(), "seLinuxOptions"},
            {context->seccomp_profile.has_value(), "seccompProfile"},
            {context->capabilities.has_value(), "capabilities"},
            {context->read_only_root_filesystem.has_value(), "readOnlyRootFilesystem"},
            {context->privileged.has_value(), "privileged"},
            {context->allow_privilege_escalation.has_value(), "allowPrivilegeEscalation"},
            {context->proc_mount.has_value(), "procMount"},
            {context->run_as_user.has_value(), "runAsUser"},
            {context->run_as_group.has_value(), "runAsGroup"}},
           path / "securityContext", "cannot be set for a windows pod", errors);
}

/// A path below the directory of profiles.
void check_profile_path(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    if (text.starts_with('/')) errors.invalid(path, text, "must be a relative path");
    bool leads_out = false;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find('/', start), text.size());
        leads_out = leads_out || std::string_view(text).substr(start, end - start) == "..";
        start = end + 1;
    }
    if (leads_out) errors.invalid(path, text, "must not contain '..'");
}

void validate_seccomp(const schema::Box<api::core::v1::SeccompProfile>& profile, const FieldPath& path, FieldErrors& errors) {
    if (!profile) return;
    const FieldPath at = path / "localhostProfile";
    if (profile->type == "Localhost") {
        if (!profile->localhost_profile || profile->localhost_profile->empty())
            errors.required(at, "must be set when seccomp type is Localhost ");
        else
            check_profile_path(*profile->localhost_profile, at, errors);
    } else if (profile->localhost_profile) {
        errors.invalid(at, *profile->localhost_profile, "can only be set when seccomp type is Localhost");
    }
}

/// Calls `visit(container, path)` for every container of all three sorts.
template <class Visit>
void for_each_container(const PodSpec& spec, const FieldPath& path, Visit visit) {
    for (std::size_t i = 0; i < spec.init_containers.size(); ++i)
        visit(spec.init_containers[i].security_context, (path / "initContainers").index(i));
    for (std::size_t i = 0; i < spec.containers.size(); ++i) visit(spec.containers[i].security_context, (path / "containers").index(i));
    for (std::size_t i = 0; i < spec.ephemeral_containers.size(); ++i)
        visit(spec.ephemeral_containers[i].security_context, (path / "ephemeralContainers").index(i));
}

void validate_os(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!spec.os) return;
    if (spec.os->name.empty()) return errors.required(path / "os" / "name", "cannot be empty");
    if (spec.os->name != "linux" && spec.os->name != "windows")
        return errors.not_supported(path / "os", spec.os->name, {"linux", "windows"});
    const PodSecurityContext none;
    const PodSecurityContext& context = spec.security_context ? *spec.security_context : none;
    if (spec.os->name == "linux") {
        constexpr std::string_view Why = "windows options cannot be set for a linux pod";
        if (context.windows_options) errors.forbidden(path / "securityContext" / "windowsOptions", Why);
        for_each_container(spec, path, [&](const schema::Box<SecurityContext>& one, const FieldPath& at) {
            if (one && one->windows_options) errors.forbidden(at / "securityContext" / "windowsOptions", Why);
        });
        return;
    }
    constexpr std::string_view Why = "cannot be set for a windows pod";
    forbid({{context.app_armor_profile.has_value(), "appArmorProfile"},
            {context.se_linux_options.has_value(), "seLinuxOptions"},
            {context.seccomp_profile.has_value(), "seccompProfile"},
            {context.fs_group.has_value(), "fsGroup"},
            {context.fs_group_change_policy.has_value(), "fsGroupChangePolicy"},
            {!context.sysctls.empty(), "sysctls"},
            {context.run_as_user.has_value(), "runAsUser"},
            {context.run_as_group.has_value(), "runAsGroup"},
            {!context.supplemental_groups.empty(), "supplementalGroups"},
            {context.supplemental_groups_policy.has_value(), "supplementalGroupsPolicy"},
            {context.se_linux_change_policy.has_value(), "seLinuxChangePolicy"}},
           path / "securityContext", Why, errors);
    forbid({{spec.host_users.has_value(), "hostUsers"},
            {spec.host_pid, "hostPID"},
            {spec.host_ipc, "hostIPC"},
            {spec.share_process_namespace.has_value(), "shareProcessNamespace"}},
           path, Why, errors);
    for_each_container(spec, path,
                       [&](const schema::Box<SecurityContext>& one, const FieldPath& at) { validate_windows_container(one, at, errors); });
}

/// Either all containers are host processes or none is.
void validate_host_process(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    const bool by_pod = spec.security_context && spec.security_context->windows_options &&
                        spec.security_context->windows_options->host_process.value_or(false);
    bool any = false, all = true;
    for_each_container(spec, path, [&](const schema::Box<SecurityContext>& one, const FieldPath&) {
        const auto own = one && one->windows_options ? one->windows_options->host_process : std::nullopt;
        const bool host = own.value_or(by_pod);
        any = any || host;
        all = all && host;
    });
    if (!any) return;
    if (!all) errors.invalid(path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers");
    if (!spec.host_network)
        errors.invalid(path / "hostNetwork", spec.host_network, "hostNetwork must be true if pod contains any hostProcess containers");
}

void check_subdomain(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    if (!text.empty()) invalid_all(errors, path, text, names::check_dns1123_subdomain(text));
}

void validate_names(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    check_subdomain(spec.node_name, path / "nodeName", errors);
    check_subdomain(spec.service_account_name, path / "serviceAccountName", errors);
    check_subdomain(spec.priority_class_name, path / "priorityClassName", errors);
    check_subdomain(spec.runtime_class_name.value_or(""), path / "runtimeClassName", errors);
    if (!spec.hostname.empty()) invalid_all(errors, path / "hostname", spec.hostname, names::check_dns1123_label(spec.hostname));
    if (!spec.subdomain.empty()) invalid_all(errors, path / "subdomain", spec.subdomain, names::check_dns1123_label(spec.subdomain));
    if (spec.hostname_override) {
        if (spec.set_hostname_as_fqdn.value_or(false))
            errors.forbidden(path / "hostnameOverride", "may not be specified when setHostnameAsFQDN is true");
        if (spec.host_network) errors.forbidden(path / "hostnameOverride", "may not be specified when hostNetwork is true");
        if (spec.hostname_override->size() > 64) errors.too_long(path / "hostnameOverride", 64);
        check_subdomain(*spec.hostname_override, path / "hostnameOverride", errors);
    }
    for (std::size_t i = 0; i < spec.host_aliases.size(); ++i) {
        const HostAlias& alias = spec.host_aliases[i];
        const FieldPath at = (path / "hostAliases").index(i);
        invalid_all(errors, at / "ip", alias.ip, names::check_ip(alias.ip));
        for (std::size_t h = 0; h < alias.hostnames.size(); ++h)
            invalid_all(errors, (at / "hostnames").index(h), alias.hostnames[h], names::check_dns1123_subdomain(alias.hostnames[h]));
    }
    for (std::size_t i = 0; i < spec.image_pull_secrets.size(); ++i)
        if (spec.image_pull_secrets[i].name.empty()) errors.required((path / "imagePullSecrets").index(i) / "name");
}

void validate_gates(const PodSpec& spec, const FieldPath& path, PodSpecIn in, FieldErrors& errors) {
    for (std::size_t i = 0; i < spec.readiness_gates.size(); ++i) {
        const std::string& type = spec.readiness_gates[i].condition_type;
        invalid_all(errors, (path / "readinessGates").index(i) / "conditionType", type, names::check_qualified_name(type));
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec.scheduling_gates.size(); ++i) {
        const FieldPath at = (path / "schedulingGates").index(i);
        const std::string& name = spec.scheduling_gates[i].name;
        invalid_all(errors, at, name, names::check_qualified_name(name));
        if (!seen.insert(name).second) errors.duplicate(at, name);
    }
    if (in == PodSpecIn::Pod && !spec.scheduling_gates.empty() && !spec.node_name.empty())
        errors.forbidden(path / "nodeName", "cannot be set until all schedulingGates have been cleared");
}

/// The sums of all pods of a node remain small.
void validate_resource_names(const PodSpec& spec, const FieldPath& path, FieldErrors& errors) {
    constexpr std::size_t Most = 256;
    std::unordered_set<std::string_view> names;
    for (const auto* containers : {&spec.containers, &spec.init_containers})
        for (const Container& container : *containers)
            for (const auto* list : {&container.resources.requests, &container.resources.limits})
                for (const auto& [name, amount] : *list) names.insert(name);
    if (names.size() > Most)
        errors.forbidden(path, "the containers of a pod may name " + std::to_string(Most) + " different resources at most");
}

}  // namespace

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> allowed) {
    return std::ranges::find(allowed, text) != allowed.end();
}

void check_relative_path(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    if (text.starts_with('/')) errors.invalid(path, text, "must be a relative path");
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        if (rest.substr(0, end) == "..") return errors.invalid(path, text, "must not contain '..'");
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

void check_path_in_volume(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    check_relative_path(text, path, errors);
    if (text.starts_with("..") && !text.starts_with("../") && text != "..") errors.invalid(path, text, "must not start with '..'");
}

void check_port(const IntOrString& port, const FieldPath& path, FieldErrors& errors) {
    if (port.is_int())
        invalid_all(errors, path, port.as_int(), names::check_port_number(port.as_int()));
    else
        invalid_all(errors, path, port.as_string(), names::check_port_name(port.as_string()));
}

void validate_pod_spec(const PodSpec& spec, const FieldPath& path, PodSpecIn in, FieldErrors& errors) {
    validate_volumes(spec.volumes, path / "volumes", in, errors);
    validate_pod_resource_claims(spec.resource_claims, path / "resourceClaims", errors);
    validate_containers(spec, path, in, errors);
    validate_resource_names(spec, path / "containers", errors);
    validate_pod_level_resources(spec, path / "resources", errors);
    if (spec.restart_policy.empty())
        errors.required(path / "restartPolicy");
    else if (!is_one_of(spec.restart_policy, {"Always", "OnFailure", "Never"}))
        errors.not_supported(path / "restartPolicy", spec.restart_policy, {"Always", "OnFailure", "Never"});
    validate_dns(spec, path, errors);
    if (!spec.termination_grace_period_seconds) errors.required(path / "terminationGracePeriodSeconds");
    for (const auto& [key, value] : spec.node_selector) {
        invalid_all(errors, path / "nodeSelector", key, names::check_qualified_name(key));
        invalid_all(errors, path / "nodeSelector", value, names::check_label_value(value));
    }
    validate_security(spec, path / "securityContext", errors);
    if (spec.host_users && !*spec.host_users) {
        forbid({{spec.host_network, "hostNetwork"}, {spec.host_pid, "HostPID"}, {spec.host_ipc, "HostIPC"}}, path,
               "when `hostUsers` is false", errors);
    }
    validate_names(spec, path, errors);
    validate_placement(spec, path, errors);
    validate_gates(spec, path, in, errors);
    if (spec.active_deadline_seconds)
        invalid_all(errors, path / "activeDeadlineSeconds", *spec.active_deadline_seconds,
                    names::check_in_range(*spec.active_deadline_seconds, 1, std::numeric_limits<std::int32_t>::max()));
    if (spec.preemption_policy && !is_one_of(*spec.preemption_policy, {"PreemptLowerPriority", "Never"}))
        errors.not_supported(path / "preemptionPolicy", *spec.preemption_policy, {"Never", "PreemptLowerPriority"});
    for (const auto& [name, amount] : spec.overhead)
        if (amount.is_negative()) errors.invalid((path / "overhead").key(name), amount.to_string(), "must be greater than or equal to 0");
    validate_os(spec, path, errors);
    const auto validate_context = [&](const auto& context, const FieldPath& at) {
        if (!context) return;
        validate_seccomp(context->seccomp_profile, at / "securityContext" / "seccompProfile", errors);
        validate_app_armor(context->app_armor_profile, at / "securityContext" / "appArmorProfile", errors);
        if (context->windows_options)
            validate_windows_options(*context->windows_options, at / "securityContext" / "windowsOptions", errors);
    };
    validate_context(spec.security_context, path);
    for_each_container(spec, path, validate_context);
    validate_host_process(spec, path, errors);
}

void validate_pod_template(const PodTemplateSpec& object, const FieldPath& path, FieldErrors& errors) {
    validate_labels(object.metadata.labels, path / "labels", errors);
    validate_annotations(object.metadata.annotations, path / "annotations", errors);
    validate_app_armor_annotations(object.metadata, object.spec, path / "annotations", path / "spec", errors);
    if (!object.spec.ephemeral_containers.empty())
        errors.forbidden(path / "spec" / "ephemeralContainers", "ephemeral containers not allowed in pod template");
    validate_pod_spec(object.spec, path / "spec", PodSpecIn::Template, errors);
}

}  // namespace porthole::apiserver
