#include "kubelet/container/windows_config.h"

#include <algorithm>

#include "base/strings.h"
#include "kubelet/container/security_context.h"

namespace porthole::kubelet {
namespace {

constexpr const char* ContainerUserSid = "S-1-5-93-2-2";
/// The group of all processes of containers, and of no process of the host.
constexpr const char* ContainerGroupSid = "S-1-5-93-0";

constexpr std::int64_t FullCpu = 10'000;  ///< all processors of the machine, as job objects count

core::WindowsSecurityContextOptions windows_options(const core::Pod& pod, const core::Container& container) {
    core::WindowsSecurityContextOptions options;
    const auto take = [&](const schema::Box<core::WindowsSecurityContextOptions>& from) {
        if (!from) return;
        if (from->gmsa_credential_spec) options.gmsa_credential_spec = from->gmsa_credential_spec;
        if (from->run_as_user_name) options.run_as_user_name = from->run_as_user_name;
        if (from->host_process) options.host_process = from->host_process;
    };
    if (pod.spec.security_context) take(pod.spec.security_context->windows_options);
    if (container.security_context) take(container.security_context->windows_options);
    return options;
}

}  // namespace

std::string windows_path(std::string path) {
    const bool remote = path.starts_with("\\\\") || path.starts_with("//");
    std::replace(path.begin(), path.end(), '/', '\\');
    if (remote || path.find(':') != std::string::npos) return path;
    return path.starts_with('\\') ? "c:" + path : "c:\\" + path;
}

cri::WindowsContainerResources windows_resources(const ResourceList& limits, std::int64_t processors) {
    cri::WindowsContainerResources resources;
    if (const std::int64_t milli = amount_of(limits, "cpu").milli_value(); milli > 0)
        resources.cpu_maximum = std::clamp<std::int64_t>(FullCpu * milli / std::max<std::int64_t>(processors, 1) / 1000, 1, FullCpu);
    resources.memory_limit_in_bytes = amount_of(limits, "memory").value();
    return resources;
}

cri::WindowsContainerConfig windows_container_config(const ContainerInputs& in) {
    const core::Container& container = in.spec.container;
    const core::WindowsSecurityContextOptions options = windows_options(in.pod, container);
    cri::WindowsContainerConfig config;
    config.resources = windows_resources(container.resources.limits, in.platform.processors);
    cri::WindowsContainerSecurityContext& security = config.security_context.emplace();
    security.run_as_username = options.run_as_user_name.value_or(in.image_user.name);
    security.credential_spec = options.gmsa_credential_spec.value_or("");
    security.host_process = options.host_process.value_or(false);
    return config;
}

/// Accounts that an image brings are known in the container alone: the host cannot tell their SIDs, so they are let in by their group.
std::string windows_reader(const core::Pod& pod, const core::Container& container, const ImageUser& image_user) {
    const core::WindowsSecurityContextOptions options = windows_options(pod, container);
    const std::string account = options.run_as_user_name.value_or(image_user.name);
    std::string plain = to_lower(account);
    if (constexpr std::string_view Domain = "user manager\\"; plain.starts_with(Domain)) plain.erase(0, Domain.size());
    if (plain.empty() || plain == "nt authority\\system" || plain == "system") return "";
    if (options.host_process.value_or(false)) return account;
    if (plain == "containeradministrator" || plain == "s-1-5-93-2-1") return "";
    if (plain == "containeruser" || plain == "s-1-5-93-2-2") return ContainerUserSid;
    return ContainerGroupSid;
}

cri::WindowsPodSandboxConfig windows_sandbox_config(const core::Pod& pod) {
    cri::WindowsPodSandboxConfig config;
    cri::WindowsSandboxSecurityContext& security = config.security_context.emplace();
    const core::WindowsSecurityContextOptions options = windows_options(pod, core::Container());
    security.run_as_username = options.run_as_user_name.value_or("");
    security.credential_spec = options.gmsa_credential_spec.value_or("");
    // All containers of a pod agree, but they may say it instead of the pod.
    security.host_process = !pod.spec.containers.empty() && is_host_process(pod, pod.spec.containers.front());
    security.namespace_options.emplace().network = security.host_process ? cri::NamespaceMode::Node : cri::NamespaceMode::Pod;
    return config;
}

bool is_host_process(const core::Pod& pod, const core::Container& container) {
    return windows_options(pod, container).host_process.value_or(false);
}

Result<void> verify_not_administrator(const core::Pod& pod, const core::Container& container, const ImageUser& image_user) {
    if (!effective_security_context(pod, container).run_as_non_root.value_or(false)) return {};
    const std::string user = windows_options(pod, container).run_as_user_name.value_or(image_user.name);
    if (!equal_ignoring_case(user, "ContainerAdministrator") && !equal_ignoring_case(user, "S-1-5-93-2-1")) return {};
    return Error(Reason::BadRequest, "container's runAsUserName (" + user + ") which will be regarded as root identity and will break " +
                                         "non-root policy (pod: \"" + pod_full_text(pod) + "\", container: " + container.name + ")");
}

}  // namespace porthole::kubelet
