#include "kubelet/container/container_config.h"

#include <algorithm>

#include "kubelet/container/environment.h"
#include "kubelet/container/security_context.h"
#include "kubelet/container/windows_config.h"
#include "kubelet/pod/resize.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

Result<std::vector<std::string>> expand_all(const std::vector<std::string>& texts, const VariablesByName& environment) {
    std::vector<std::string> result;
    std::size_t left = MaxEnvironmentBytes;
    for (const std::string& text : texts) {
        TRY(std::string expanded, expand(text, [&](std::string_view name) { return environment.find(name); }, left));
        left -= std::min(left, expanded.size());
        result.push_back(std::move(expanded));
    }
    return result;
}

std::map<std::string, std::string> identity_labels(const core::Pod& pod) {
    return {{PodNameLabel, pod.metadata.name}, {PodNamespaceLabel, pod.metadata.namespace_}, {PodUidLabel, pod.metadata.uid}};
}

std::map<std::string, std::string> container_annotations(const core::Pod& pod, const core::Container& container, std::int32_t attempt) {
    std::map<std::string, std::string> annotations{
        {ContainerHashAnnotation, container_hash(container)},
        {RestartCountAnnotation, std::to_string(attempt)},
        {TerminationMessagePathAnnotation, container.termination_message_path},
        {TerminationMessagePolicyAnnotation, container.termination_message_policy},
    };
    if (pod.metadata.deletion_grace_period_seconds)
        annotations[DeletionGracePeriodAnnotation] = std::to_string(*pod.metadata.deletion_grace_period_seconds);
    if (pod.spec.termination_grace_period_seconds)
        annotations[TerminationGracePeriodAnnotation] = std::to_string(*pod.spec.termination_grace_period_seconds);
    if (container.lifecycle && container.lifecycle->pre_stop)
        annotations[PreStopHandlerAnnotation] = schema::encode_json(*container.lifecycle->pre_stop);
    if (!container.ports.empty()) {
        std::string ports;
        for (const core::ContainerPort& port : container.ports) ports += (ports.empty() ? "[" : ",") + schema::encode_json(port);
        annotations[PortsAnnotation] = ports + "]";
    }
    return annotations;
}

cri::Protocol protocol_named(const std::string& name) {
    return name == "UDP" ? cri::Protocol::Udp : name == "SCTP" ? cri::Protocol::Sctp : cri::Protocol::Tcp;
}

std::vector<cri::PortMapping> port_mappings(const core::Pod& pod) {
    std::vector<cri::PortMapping> mappings;
    if (pod.spec.host_network) return mappings;
    for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
        for (const core::Container& container : *list) {
            if (list == &pod.spec.init_containers && !is_sidecar(container)) continue;
            for (const core::ContainerPort& port : container.ports) {
                if (port.host_port <= 0) continue;
                cri::PortMapping& mapping = mappings.emplace_back();
                mapping.protocol = protocol_named(port.protocol);
                mapping.container_port = port.container_port;
                mapping.host_port = port.host_port;
                mapping.host_ip = port.host_ip;
            }
        }
    }
    return mappings;
}

/// "hugepages-2Mi" as the kernel's control groups name it: "2MB".
std::vector<cri::HugepageLimit> huge_page_limits(const ResourceList& limits) {
    constexpr std::string_view HugePages = "hugepages-";
    constexpr const char* Units[] = {"B", "KB", "MB", "GB"};
    std::vector<cri::HugepageLimit> made;
    for (const auto& [name, amount] : limits) {
        if (!name.starts_with(HugePages)) continue;
        const auto size = Quantity::parse(name.substr(HugePages.size()));
        if (!size) continue;
        std::int64_t count = size->value();
        std::size_t unit = 0;
        for (; count >= 1024 && unit + 1 < std::size(Units); ++unit) count /= 1024;
        made.push_back({.page_size = std::to_string(count) + Units[unit], .limit = static_cast<std::uint64_t>(amount.value())});
    }
    return made;
}

cri::LinuxContainerResources container_resources(const ContainerInputs& in) {
    const core::ResourceRequirements& own = in.spec.container.resources;
    cri::LinuxContainerResources resources = linux_resources(own.requests, limits_in_force(own, in.pod.spec.resources));
    resources.hugepage_limits = huge_page_limits(own.limits);
    resources.oom_score_adj = oom_score_adjustment(in.pod, in.spec.container, in.platform.memory);
    // An out-of-memory kill ends the container as a whole: what is left of it would not be healthy.
    if (in.cgroup_v2) resources.unified["memory.oom.group"] = "1";
    return resources;
}

Result<void> add_linux_part(const ContainerInputs& in, cri::ContainerConfig& config) {
    TRY_VOID(verify_non_root(in.pod, in.spec.container, in.image_user));
    TRY(cri::LinuxContainerSecurityContext security, linux_security_context(in));
    config.annotations.merge(resource_annotations({in.spec.container.resources, in.pod.spec.resources}));
    config.linux.emplace();
    config.linux->resources = container_resources(in);
    config.linux->security_context = std::move(security);
    return {};
}

Result<void> add_windows_part(const ContainerInputs& in, cri::ContainerConfig& config) {
    TRY_VOID(verify_not_administrator(in.pod, in.spec.container, in.image_user));
    config.windows = windows_container_config(in);
    for (cri::Mount& mount : config.mounts) {
        mount.host_path = windows_path(std::move(mount.host_path));
        mount.container_path = windows_path(std::move(mount.container_path));
        mount.propagation = cri::MountPropagation::PropagationPrivate;
    }
    return {};
}

void add_linux_part(SandboxInputs& in, cri::PodSandboxConfig& config) {
    config.linux = linux_sandbox_config(in.pod);
    config.linux->security_context->namespace_options->userns_options = std::move(in.users);
    config.linux->cgroup_parent = in.cgroup_parent;
    config.linux->resources = linux_resources(objects::pod_requests(in.pod.spec), objects::pod_limits(in.pod.spec));
    if (!in.pod.spec.overhead.empty()) config.linux->overhead = linux_resources(in.pod.spec.overhead, in.pod.spec.overhead);
}

}  // namespace

Result<cri::ContainerConfig> make_container_config(ContainerInputs in) {
    const core::Container& container = in.spec.container;
    cri::ContainerConfig config;
    config.metadata.emplace();
    config.metadata->name = container.name;
    config.metadata->attempt = static_cast<std::uint32_t>(in.attempt);
    config.image.emplace();
    config.image->image = in.image_ref;
    config.image->user_specified_image = container.image;
    const VariablesByName variables(in.environment);
    TRY(config.command, expand_all(container.command, variables));
    TRY(config.args, expand_all(container.args, variables));
    config.working_dir = container.working_dir;
    for (auto& [name, value] : in.environment) {
        cri::KeyValue& variable = config.envs.emplace_back();
        variable.key = name;
        variable.value = value;
    }
    config.mounts = std::move(in.mounts);
    config.devices = std::move(in.devices);
    for (std::string& id : in.cdi_devices) config.cdi_devices.emplace_back().name = std::move(id);
    config.labels = identity_labels(in.pod);
    config.labels[ContainerNameLabel] = container.name;
    config.annotations = container_annotations(in.pod, container, in.attempt);
    config.log_path = container.name + "/" + std::to_string(in.attempt) + ".log";
    config.stdin = container.stdin;
    config.stdin_once = container.stdin_once;
    config.tty = container.tty;
    if (container.lifecycle && container.lifecycle->stop_signal) config.stop_signal = signal_named(*container.lifecycle->stop_signal);
    TRY_VOID(in.platform.windows ? add_windows_part(in, config) : add_linux_part(in, config));
    return config;
}

cri::PodSandboxConfig make_sandbox_config(SandboxInputs in) {
    cri::PodSandboxConfig config;
    config.metadata.emplace();
    config.metadata->name = in.pod.metadata.name;
    config.metadata->namespace_ = in.pod.metadata.namespace_;
    config.metadata->uid = in.pod.metadata.uid;
    config.metadata->attempt = in.attempt;
    const bool fqdn = in.pod.spec.set_hostname_as_fqdn.value_or(false) && !in.hostname.domain.empty();
    // On the host's network the pod has the host's name.
    if (!in.pod.spec.host_network) config.hostname = fqdn ? in.hostname.hostname + "." + in.hostname.domain : in.hostname.hostname;
    config.log_directory = std::move(in.log_directory);
    config.dns_config = std::move(in.dns);
    config.port_mappings = port_mappings(in.pod);
    // merge() keeps what is there: no label of the pod may say that the sandbox is another pod's.
    config.labels = identity_labels(in.pod);
    config.labels.merge(std::map<std::string, std::string>(in.pod.metadata.labels));
    config.annotations = in.pod.metadata.annotations;
    if (in.windows) {
        config.windows = windows_sandbox_config(in.pod);
        config.log_directory = windows_path(std::move(config.log_directory));
    } else {
        add_linux_part(in, config);
    }
    return config;
}

schema::Box<cri::UserNamespace> users_of(const cri::PodSandboxConfig& sandbox) {
    const auto* security = sandbox.linux && sandbox.linux->security_context ? &*sandbox.linux->security_context : nullptr;
    return security && security->namespace_options ? security->namespace_options->userns_options : std::nullopt;
}

void map_owners_of_mounts(cri::ContainerConfig& config) {
    if (!config.linux) return;
    const auto& users = config.linux->security_context->namespace_options->userns_options;
    if (!users) return;
    for (cri::Mount& mount : config.mounts) {
        mount.uid_mappings = users->uids;
        mount.gid_mappings = users->gids;
    }
}

std::string pod_cgroup(const core::Pod& pod, const std::string& root) {
    const std::string qos = objects::qos_class(pod.spec);
    const char* tier = qos == core::PodQOSClass::Burstable ? "/burstable" : qos == core::PodQOSClass::BestEffort ? "/besteffort" : "";
    return root + "/kubepods" + tier + "/pod" + pod.metadata.uid;
}

cri::LinuxContainerResources linux_resources(const ResourceList& requests, const ResourceList& limits) {
    cri::LinuxContainerResources resources;
    const Quantity cpu_limit = amount_of(limits, "cpu");
    const bool has_request = requests.contains("cpu");
    resources.cpu_shares = cpu_shares_of((has_request ? amount_of(requests, "cpu") : cpu_limit).milli_value());
    resources.cpu_period = CpuPeriod;
    resources.cpu_quota = cpu_quota_of(cpu_limit.milli_value());
    resources.memory_limit_in_bytes = amount_of(limits, "memory").value();
    return resources;
}

cri::Signal signal_named(const std::string& name) {
    static constexpr const char* Names[] = {"",        "SIGABRT", "SIGALRM", "SIGBUS",    "SIGCHLD",  "SIGCLD",  "SIGCONT",
                                            "SIGFPE",  "SIGHUP",  "SIGILL",  "SIGINT",    "SIGIO",    "SIGIOT",  "SIGKILL",
                                            "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR",    "SIGQUIT",  "SIGSEGV", "SIGSTKFLT",
                                            "SIGSTOP", "SIGSYS",  "SIGTERM", "SIGTRAP",   "SIGTSTP",  "SIGTTIN", "SIGTTOU",
                                            "SIGURG",  "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"};
    const auto found = std::find(std::begin(Names) + 1, std::end(Names), name);
    if (found != std::end(Names)) return static_cast<cri::Signal>(found - std::begin(Names));
    // SIGRTMIN, SIGRTMIN+1 … +15, SIGRTMAX-14 … -1, SIGRTMAX follow in this order.
    for (int i = 0; i <= 30; ++i) {
        const std::string real_time = i == 0    ? "SIGRTMIN"
                                      : i <= 15 ? "SIGRTMIN+" + std::to_string(i)
                                      : i == 30 ? "SIGRTMAX"
                                                : "SIGRTMAX-" + std::to_string(30 - i);
        if (real_time == name) return static_cast<cri::Signal>(static_cast<int>(cri::Signal::Sigrtmin) + i);
    }
    return cri::Signal::RuntimeDefault;
}

}  // namespace porthole::kubelet
