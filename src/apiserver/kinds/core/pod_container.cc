#include <algorithm>
#include <set>

#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/validation/names.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using schema::Value;

constexpr std::size_t MaxRestartRules = 20, MaxExitCodes = 255;

bool is_native_resource(std::string_view name) { return !name.contains('/') || name.contains("kubernetes.io/"); }
bool is_huge_page(std::string_view name) { return name.starts_with("hugepages-"); }
bool is_standard_container_resource(std::string_view name) {
    return is_one_of(name, {"cpu", "memory", "ephemeral-storage"}) || is_huge_page(name);
}
/// Requests of it may be smaller than limits.
bool may_overcommit(std::string_view name) { return is_native_resource(name) && !is_huge_page(name); }

void validate_amounts(const std::map<std::string, Quantity>& amounts, const FieldPath& path, FieldErrors& errors) {
    for (const auto& [name, amount] : amounts) {
        const FieldPath at = path.key(name);
        invalid_all(errors, at, name, names::check_qualified_name(name));
        if (!name.contains('/') && !is_standard_container_resource(name))
            errors.invalid(at, name, "must be a standard resource for containers");
        if (amount.is_negative()) errors.invalid(at, amount.to_string(), "must be greater than or equal to 0");
        if (!is_native_resource(name) && !amount.is_whole()) errors.invalid(at, amount.to_string(), "must be an integer");
    }
}

// --- Environment ---

const char* const EnvironmentFields[] = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
                                         "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};

bool is_subscripted(std::string_view path, std::string_view field) {
    return path.starts_with(field) && path.substr(field.size()).starts_with("['") && path.ends_with("']");
}

void validate_field_reference(const ObjectFieldSelector& reference, const FieldPath& path, FieldErrors& errors) {
    if (reference.api_version.empty()) return errors.required(path / "apiVersion");
    if (reference.field_path.empty()) return errors.required(path / "fieldPath");
    const std::string& field = reference.field_path;
    if (is_subscripted(field, "metadata.annotations") || is_subscripted(field, "metadata.labels")) return;
    if (std::ranges::find(EnvironmentFields, field) != std::end(EnvironmentFields)) return;
    const bool known =
        is_one_of(field, {"metadata.labels", "metadata.annotations", "status.phase", "spec.restartPolicy", "spec.schedulerName"});
    if (!known) return errors.invalid(path / "fieldPath", field, "error converting fieldPath: field label not supported: " + field);
    errors.not_supported(path / "fieldPath", field,
                         {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
                          "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"});
}

void validate_resource_reference(const ResourceFieldSelector& reference, const FieldPath& path, FieldErrors& errors) {
    if (reference.resource.empty()) return errors.required(path / "resource");
    const std::string_view resource = reference.resource;
    const std::size_t dot = resource.find('.');
    const std::string_view list = resource.substr(0, dot);
    const std::string_view name = dot == std::string_view::npos ? std::string_view() : resource.substr(dot + 1);
    if ((list != "limits" && list != "requests") || !(is_one_of(name, {"cpu", "memory", "ephemeral-storage"}) || is_huge_page(name))) {
        errors.not_supported(
            path / "resource", reference.resource,
            {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"});
    }
}

void validate_key_reference(const std::string& name, const std::string& key, const FieldPath& path, FieldErrors& errors) {
    if (name.empty())
        errors.required(path / "name");
    else
        invalid_all(errors, path / "name", name, names::check_dns1123_subdomain(name));
    if (key.empty())
        errors.required(path / "key");
    else
        invalid_all(errors, path / "key", key, names::check_config_key(key));
}

void validate_environment(const std::vector<EnvVar>& environment, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < environment.size(); ++i) {
        const EnvVar& variable = environment[i];
        const FieldPath at = path.index(i);
        if (variable.name.empty())
            errors.required(at / "name");
        else
            invalid_all(errors, at / "name", variable.name, names::check_environment_name(variable.name));
        if (!variable.value_from) continue;
        const EnvVarSource& source = *variable.value_from;
        const FieldPath from = at / "valueFrom";
        const int sources = source.field_ref.has_value() + source.resource_field_ref.has_value() + source.config_map_key_ref.has_value() +
                            source.secret_key_ref.has_value() + source.file_key_ref.has_value();
        if (sources == 0) {
            errors.invalid(from, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`");
        } else if (!variable.value.empty()) {
            errors.invalid(from, "", "may not be specified when `value` is not empty");
        } else if (sources > 1) {
            errors.invalid(from, "", "may not have more than one field specified at a time");
        }
        if (source.field_ref) validate_field_reference(*source.field_ref, from / "fieldRef", errors);
        if (source.resource_field_ref) validate_resource_reference(*source.resource_field_ref, from / "resourceFieldRef", errors);
        if (source.config_map_key_ref)
            validate_key_reference(source.config_map_key_ref->name, source.config_map_key_ref->key, from / "configMapKeyRef", errors);
        if (source.secret_key_ref)
            validate_key_reference(source.secret_key_ref->name, source.secret_key_ref->key, from / "secretKeyRef", errors);
    }
}

void validate_environment_sources(const std::vector<EnvFromSource>& sources, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const EnvFromSource& source = sources[i];
        const FieldPath at = path.index(i);
        if (!source.prefix.empty()) invalid_all(errors, at / "prefix", source.prefix, names::check_environment_name(source.prefix));
        const auto check_name = [&](const std::string& name, const char* member) {
            if (name.empty())
                errors.required(at / member / "name");
            else
                invalid_all(errors, at / member / "name", name, names::check_dns1123_subdomain(name));
        };
        if (source.config_map_ref) check_name(source.config_map_ref->name, "configMapRef");
        if (source.secret_ref) check_name(source.secret_ref->name, "secretRef");
        if (!source.config_map_ref && !source.secret_ref) errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
        if (source.config_map_ref && source.secret_ref) errors.invalid(path, "", "may not have more than one field specified at a time");
    }
}

// --- Ports and mounts ---

void validate_ports(const std::vector<ContainerPort>& ports, const ContainerScope& scope, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const ContainerPort& port = ports[i];
        const FieldPath at = path.index(i);
        if (!port.name.empty()) {
            invalid_all(errors, at / "name", port.name, names::check_port_name(port.name));
            if (!seen.insert(port.name).second) errors.duplicate(at / "name", port.name);
        }
        if (port.container_port == 0)
            errors.required(at / "containerPort");
        else
            invalid_all(errors, at / "containerPort", port.container_port, names::check_port_number(port.container_port));
        if (port.host_port != 0) invalid_all(errors, at / "hostPort", port.host_port, names::check_port_number(port.host_port));
        const bool must_match = scope.pod.host_network && port.host_port != port.container_port;
        if (must_match && (scope.in == PodSpecIn::Pod || port.host_port != 0))
            errors.invalid(at / "hostPort", port.host_port, "must match `containerPort` when `hostNetwork` is true");
        if (port.protocol.empty())
            errors.required(at / "protocol");
        else if (!is_one_of(port.protocol, {"TCP", "UDP", "SCTP"}))
            errors.not_supported(at / "protocol", port.protocol, {"SCTP", "TCP", "UDP"});
    }
}

template <class AnyContainer>
void validate_mounts(const AnyContainer& container, const ContainerScope& scope, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> mounted;
    const FieldPath mounts = path / "volumeMounts";
    for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
        const VolumeMount& mount = container.volume_mounts[i];
        const FieldPath at = mounts.index(i);
        if (mount.name.empty())
            errors.required(at / "name");
        else if (!scope.volumes.contains(mount.name))
            errors.not_found(at / "name", mount.name);
        if (mount.mount_path.empty())
            errors.required(at / "mountPath");
        else if (!mounted.insert(mount.mount_path).second)
            errors.invalid(at / "mountPath", mount.mount_path, "must be unique");
        if (!mount.sub_path.empty()) check_relative_path(mount.sub_path, mounts / "subPath", errors);
        if (!mount.sub_path_expr.empty()) {
            if (!mount.sub_path.empty())
                errors.invalid(mounts / "subPathExpr", mount.sub_path_expr, "subPathExpr and subPath are mutually exclusive");
            check_relative_path(mount.sub_path_expr, mounts / "subPathExpr", errors);
        }
        if (mount.mount_propagation) {
            const std::string& mode = *mount.mount_propagation;
            const bool privileged = container.security_context && container.security_context->privileged.value_or(false);
            if (!is_one_of(mode, {"None", "HostToContainer", "Bidirectional"}))
                errors.not_supported(at / "mountPropagation", mode, {"Bidirectional", "HostToContainer", "None"});
            else if (mode == "Bidirectional" && !privileged)
                errors.forbidden(at / "mountPropagation", "Bidirectional mount propagation is available only to privileged containers");
        }
        if (mount.recursive_read_only && *mount.recursive_read_only != "Disabled") {
            if (!is_one_of(*mount.recursive_read_only, {"Enabled", "IfPossible"})) {
                errors.not_supported(at / "recursiveReadOnly", *mount.recursive_read_only, {"Disabled", "Enabled", "IfPossible"});
            } else {
                if (!mount.read_only) errors.forbidden(at / "recursiveReadOnly", "may only be specified when readOnly is true");
                if (mount.mount_propagation && *mount.mount_propagation != "None")
                    errors.forbidden(at / "recursiveReadOnly", "may only be specified when mountPropagation is None or not specified");
            }
        }
    }
    std::set<std::string> devices, device_names;
    for (std::size_t i = 0; i < container.volume_devices.size(); ++i) {
        const VolumeDevice& device = container.volume_devices[i];
        const FieldPath at = (path / "volumeDevices").index(i);
        const auto volume = scope.volumes.find(device.name);
        if (device.name.empty())
            errors.required(at / "name");
        else if (!device_names.insert(device.name).second)
            errors.invalid(at / "name", device.name, "must be unique");
        else if (volume == scope.volumes.end())
            errors.not_found(at / "name", device.name);
        else if (!volume->second->persistent_volume_claim && !volume->second->ephemeral)
            errors.invalid(at / "name", device.name,
                           "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
        if (device.device_path.empty())
            errors.required(at / "devicePath");
        else if (!devices.insert(device.device_path).second)
            errors.invalid(at / "devicePath", device.device_path, "must be unique");
        else if (device.device_path.contains(".."))
            errors.invalid(at / "devicePath", device.device_path, "can not contain backsteps ('..')");
        else if (mounted.contains(device.device_path))
            errors.invalid(at / "devicePath", device.device_path, "must not already exist as a path in volumeMounts");
    }
}

// --- Probes and hooks ---

void validate_http_get(const HTTPGetAction& action, const FieldPath& path, FieldErrors& errors) {
    if (action.path.empty()) errors.required(path / "path");
    check_port(action.port, path / "port", errors);
    if (!is_one_of(action.scheme, {"HTTP", "HTTPS"})) errors.not_supported(path / "scheme", action.scheme, {"HTTP", "HTTPS"});
    for (const HTTPHeader& header : action.http_headers)
        invalid_all(errors, path / "httpHeaders", header.name, names::check_http_header_name(header.name));
}

/// Exactly one of the handlers that `found` counts.
class HandlerCheck {
public:
    HandlerCheck(const FieldPath& path, FieldErrors& errors) : path_(path), errors_(errors) {}
    /// False for a second handler.
    bool take(bool present, const char* member) {
        if (!present) return false;
        if (count_++ > 0) {
            errors_.forbidden(path_ / member, "may not specify more than 1 handler type");
            return false;
        }
        return true;
    }
    void finish() {
        if (count_ == 0) errors_.required(path_, "must specify a handler type");
    }

private:
    const FieldPath& path_;
    FieldErrors& errors_;
    int count_ = 0;
};

template <class Handler>
void validate_common_handlers(const Handler& handler, HandlerCheck& check, const FieldPath& path, FieldErrors& errors) {
    if (check.take(handler.exec.has_value(), "exec") && handler.exec->command.empty()) errors.required(path / "exec" / "command");
    if (check.take(handler.http_get.has_value(), "httpGet")) validate_http_get(*handler.http_get, path / "httpGet", errors);
    if (check.take(handler.tcp_socket.has_value(), "tcpSocket")) check_port(handler.tcp_socket->port, path / "tcpSocket" / "port", errors);
}

void validate_hook(const schema::Box<LifecycleHandler>& hook, std::int64_t grace, const FieldPath& path, FieldErrors& errors) {
    if (!hook) return;
    HandlerCheck check(path, errors);
    validate_common_handlers(*hook, check, path, errors);
    if (check.take(hook->sleep.has_value(), "sleep") && (hook->sleep->seconds < 0 || hook->sleep->seconds > grace)) {
        errors.invalid(path / "sleep", hook->sleep->seconds,
                       "must be non-negative and less than terminationGracePeriodSeconds (" + std::to_string(grace) + ")");
    }
    check.finish();
}

enum class ProbeSort { Liveness, Readiness, Startup };

void validate_probe(const schema::Box<Probe>& probe, ProbeSort sort, const FieldPath& path, FieldErrors& errors) {
    if (!probe) return;
    HandlerCheck check(path, errors);
    validate_common_handlers(*probe, check, path, errors);
    if (check.take(probe->grpc.has_value(), "grpc"))
        invalid_all(errors, path / "grpc" / "port", probe->grpc->port, names::check_port_number(probe->grpc->port));
    check.finish();
    check_not_negative(probe->initial_delay_seconds, path / "initialDelaySeconds", errors);
    check_not_negative(probe->timeout_seconds, path / "timeoutSeconds", errors);
    check_not_negative(probe->period_seconds, path / "periodSeconds", errors);
    check_not_negative(probe->success_threshold, path / "successThreshold", errors);
    check_not_negative(probe->failure_threshold, path / "failureThreshold", errors);
    const auto& grace = probe->termination_grace_period_seconds;
    if (grace && *grace <= 0) errors.invalid(path / "terminationGracePeriodSeconds", *grace, "must be greater than 0");
    if (sort == ProbeSort::Readiness) {
        if (grace) errors.invalid(path / "terminationGracePeriodSeconds", *grace, "must not be set for readinessProbes");
    } else if (probe->success_threshold != 1) {
        errors.invalid(path / "successThreshold", probe->success_threshold, "must be 1");
    }
}

// --- Security ---

void validate_security(const SecurityContext& context, bool host_users, const FieldPath& path, FieldErrors& errors) {
    const auto check_id = [&](const std::optional<std::int64_t>& id, const char* member) {
        if (id) invalid_all(errors, path / member, *id, names::check_in_range(*id, 0, std::numeric_limits<std::int32_t>::max()));
    };
    check_id(context.run_as_user, "runAsUser");
    check_id(context.run_as_group, "runAsGroup");
    if (context.proc_mount && !is_one_of(*context.proc_mount, {"Default", "Unmasked"}))
        errors.not_supported(path / "procMount", *context.proc_mount, {"Default", "Unmasked"});
    if (host_users && context.proc_mount == "Unmasked")
        errors.invalid(path / "procMount", *context.proc_mount, "`hostUsers` must be false to use `Unmasked`");
    if (!context.allow_privilege_escalation || *context.allow_privilege_escalation) return;
    if (context.privileged.value_or(false))
        errors.invalid(path, schema::to_value(context), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    if (context.capabilities && std::ranges::find(context.capabilities->add, "CAP_SYS_ADMIN") != context.capabilities->add.end())
        errors.invalid(path, schema::to_value(context),
                       "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
}

template <class AnyContainer>
void validate_common(const AnyContainer& container, const ContainerScope& scope, const FieldPath& path, FieldErrors& errors) {
    if (container.name.empty())
        errors.required(path / "name");
    else
        invalid_all(errors, path / "name", container.name, names::check_dns1123_label(container.name));
    if (container.image.empty())
        errors.required(path / "image");
    else if (scope.in == PodSpecIn::Pod && (container.image.front() == ' ' || container.image.back() == ' '))
        errors.invalid(path / "image", container.image, "must not have leading or trailing whitespace");
    if (container.termination_message_policy.empty())
        errors.required(path / "terminationMessagePolicy");
    else if (!is_one_of(container.termination_message_policy, {"File", "FallbackToLogsOnError"}))
        errors.not_supported(path / "terminationMessagePolicy", container.termination_message_policy, {"FallbackToLogsOnError", "File"});
    validate_ports(container.ports, scope, path / "ports", errors);
    validate_environment(container.env, path / "env", errors);
    validate_environment_sources(container.env_from, path / "envFrom", errors);
    validate_mounts(container, scope, path, errors);
    if (container.image_pull_policy.empty())
        errors.required(path / "imagePullPolicy");
    else if (!is_one_of(container.image_pull_policy, {"Always", "IfNotPresent", "Never"}))
        errors.not_supported(path / "imagePullPolicy", container.image_pull_policy, {"Always", "IfNotPresent", "Never"});
    validate_resources(container.resources, path / "resources", errors);
    validate_container_claims(container.resources.claims, scope.claims, path / "resources" / "claims", errors);
    const bool host_users = scope.pod.host_users.value_or(true);
    if (container.security_context) validate_security(*container.security_context, host_users, path / "securityContext", errors);
    if (!host_users && !container.volume_devices.empty()) errors.forbidden(path / "volumeDevices", "when `hostUsers` is false");
}

void validate_active_parts(const Container& container, const ContainerScope& scope, const FieldPath& path, FieldErrors& errors) {
    const std::int64_t grace = scope.pod.termination_grace_period_seconds.value_or(0);
    if (container.lifecycle) {
        validate_hook(container.lifecycle->post_start, grace, path / "lifecycle" / "postStart", errors);
        validate_hook(container.lifecycle->pre_stop, grace, path / "lifecycle" / "preStop", errors);
    }
    validate_probe(container.liveness_probe, ProbeSort::Liveness, path / "livenessProbe", errors);
    validate_probe(container.readiness_probe, ProbeSort::Readiness, path / "readinessProbe", errors);
    validate_probe(container.startup_probe, ProbeSort::Startup, path / "startupProbe", errors);
}

void validate_restart_rule(const ContainerRestartRule& rule, const FieldPath& path, FieldErrors& errors) {
    if (!is_one_of(rule.action, {"Restart", "RestartAllContainers"}))
        errors.not_supported(path / "action", rule.action, {"Restart", "RestartAllContainers"});
    if (!rule.exit_codes) return errors.required(path / "exitCodes", "must be specified");
    if (!is_one_of(rule.exit_codes->operator_, {"In", "NotIn"}))
        errors.not_supported(path / "exitCodes" / "operator", rule.exit_codes->operator_, {"In", "NotIn"});
    if (rule.exit_codes->values.size() > MaxExitCodes)
        errors.too_many(path / "exitCodes" / "values", rule.exit_codes->values.size(), MaxExitCodes);
}

void validate_restart_policy(const Container& container, const FieldPath& path, FieldErrors& errors) {
    if (container.restart_policy && !is_one_of(*container.restart_policy, {"Always", "Never", "OnFailure"}))
        errors.not_supported(path / "restartPolicy", *container.restart_policy, {"Always", "Never", "OnFailure"});
    const std::vector<ContainerRestartRule>& rules = container.restart_policy_rules;
    if (!container.restart_policy && !rules.empty())
        errors.required(path / "restartPolicy", "must specify restartPolicy when restart rules are used");
    if (rules.size() > MaxRestartRules) errors.too_many(path / "restartPolicyRules", rules.size(), MaxRestartRules);
    for (std::size_t i = 0; i < rules.size(); ++i) validate_restart_rule(rules[i], (path / "restartPolicyRules").index(i), errors);
}

void validate_init_container(const Container& container, const ContainerScope& scope, const FieldPath& path, FieldErrors& errors) {
    validate_common(container, scope, path, errors);
    validate_restart_policy(container, path, errors);
    if (container.restart_policy == "Always") return validate_active_parts(container, scope, path, errors);
    constexpr std::string_view Why = "may not be set for init containers without restartPolicy=Always";
    if (container.lifecycle) errors.forbidden(path / "lifecycle", Why);
    if (container.liveness_probe) errors.forbidden(path / "livenessProbe", Why);
    if (container.readiness_probe) errors.forbidden(path / "readinessProbe", Why);
    if (container.startup_probe) errors.forbidden(path / "startupProbe", Why);
}

/// What needs a container that is there from the beginning, or that is started again.
void validate_ephemeral_parts(const EphemeralContainer& container, const FieldPath& path, FieldErrors& errors) {
    const auto refuse_if = [&](bool is_set, const FieldPath& field) {
        if (is_set) errors.forbidden(field, "cannot be set for an Ephemeral Container");
    };
    refuse_if(!container.ports.empty(), path / "ports");
    refuse_if(container.lifecycle.has_value(), path / "lifecycle");
    refuse_if(container.liveness_probe.has_value(), path / "livenessProbe");
    refuse_if(container.readiness_probe.has_value(), path / "readinessProbe");
    refuse_if(container.startup_probe.has_value(), path / "startupProbe");
    refuse_if(!(container.resources == ResourceRequirements()), path / "resources");
    refuse_if(!container.resize_policy.empty(), path / "resizePolicy");
    refuse_if(container.restart_policy.has_value(), path / "restartPolicy");
    refuse_if(!container.restart_policy_rules.empty(), path / "restartPolicyRules");
    for (std::size_t i = 0; i < container.volume_mounts.size(); ++i) {
        const FieldPath mount = (path / "volumeMounts").index(i);
        refuse_if(!container.volume_mounts[i].sub_path.empty(), mount / "subPath");
        refuse_if(!container.volume_mounts[i].sub_path_expr.empty(), mount / "subPathExpr");
    }
}

/// No two containers of a pod listen on the same port of the node.
void validate_host_ports(const std::vector<Container>& containers, const FieldPath& path, FieldErrors& errors) {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < containers.size(); ++i) {
        for (std::size_t p = 0; p < containers[i].ports.size(); ++p) {
            const ContainerPort& port = containers[i].ports[p];
            if (port.host_port == 0) continue;
            const std::string text = port.protocol + "/" + port.host_ip + "/" + std::to_string(port.host_port);
            if (!taken.insert(text).second) errors.duplicate((path.index(i) / "ports").index(p) / "hostPort", text);
        }
    }
}

}  // namespace

void validate_resources(const ResourceRequirements& resources, const FieldPath& path, FieldErrors& errors) {
    validate_amounts(resources.limits, path / "limits", errors);
    validate_amounts(resources.requests, path / "requests", errors);
    for (const auto& [name, request] : resources.requests) {
        const auto limit = resources.limits.find(name);
        if (limit == resources.limits.end()) {
            if (!may_overcommit(name)) errors.required(path / "limits", "Limit must be set for non overcommitable resources");
        } else if (may_overcommit(name) ? request > limit->second : request != limit->second) {
            errors.invalid(path / "requests", request.to_string(),
                           std::string(may_overcommit(name) ? "must be less than or equal to " : "must be equal to ") + name +
                               " limit of " + limit->second.to_string());
        }
    }
    const auto names_any = [&](auto predicate) {
        const auto listed = [&](const auto& amounts) {
            return std::ranges::any_of(amounts, [&](const auto& one) { return predicate(one.first); });
        };
        return listed(resources.limits) || listed(resources.requests);
    };
    if (names_any(is_huge_page) && !names_any([](std::string_view name) { return name == "cpu" || name == "memory"; }))
        errors.forbidden(path, "HugePages require cpu or memory");
}

ContainerScope::ContainerScope(const PodSpec& pod, PodSpecIn in) : pod(pod), in(in), claims(pod) {
    for (const Volume& volume : pod.volumes) volumes.emplace(volume.name, &volume);
}

void validate_containers(const PodSpec& spec, const FieldPath& path, PodSpecIn in, FieldErrors& errors) {
    const ContainerScope scope(spec, in);
    std::set<std::string> seen;
    const auto check_unique = [&](const std::string& name, const FieldPath& at) {
        if (!name.empty() && !seen.insert(name).second) errors.duplicate(at / "name", name);
    };
    const FieldPath containers = path / "containers";
    if (spec.containers.empty()) errors.required(containers);
    for (std::size_t i = 0; i < spec.containers.size(); ++i) {
        const Container& container = spec.containers[i];
        validate_common(container, scope, containers.index(i), errors);
        validate_restart_policy(container, containers.index(i), errors);
        validate_active_parts(container, scope, containers.index(i), errors);
        check_unique(container.name, containers.index(i));
    }
    validate_host_ports(spec.containers, containers, errors);
    for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
        const FieldPath at = (path / "initContainers").index(i);
        validate_init_container(spec.init_containers[i], scope, at, errors);
        check_unique(spec.init_containers[i].name, at);
    }
    std::set<std::string_view> targets;
    for (const auto* containers_of : {&spec.containers, &spec.init_containers})
        for (const Container& container : *containers_of) targets.insert(container.name);
    for (std::size_t i = 0; i < spec.ephemeral_containers.size(); ++i) {
        const EphemeralContainer& container = spec.ephemeral_containers[i];
        const FieldPath at = (path / "ephemeralContainers").index(i);
        validate_common(static_cast<const EphemeralContainerCommon&>(container), scope, at, errors);
        check_unique(container.name, at);
        validate_ephemeral_parts(container, at, errors);
        const std::string& target = container.target_container_name;
        if (!target.empty() && !targets.contains(target)) errors.not_found(at / "targetContainerName", target);
    }
}

}  // namespace porthole::apiserver
