#include "kubelet/lifecycle/container_preparer.h"

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "kubelet/container/windows_config.h"
#include "kubelet/devices/cdi_specs.h"

namespace porthole::kubelet {
namespace {

constexpr const char* HostsPath = "/etc/hosts";
constexpr const char* WindowsHostsPath = "C:\\Windows\\System32\\drivers\\etc\\hosts";

bool mounts_at(const core::Container& container, const std::string& path) {
    return std::any_of(container.volume_mounts.begin(), container.volume_mounts.end(),
                       [&](const core::VolumeMount& mount) { return mount.mount_path == path; });
}

}  // namespace

Task<cri::ContainerConfig> ContainerPreparer::prepare(const PodStartContext& context, const ContainerSpec& spec,
                                                      const ImageOutcome& image) {
    const core::Container& container = spec.container;
    if (node_.windows)
        if (const std::string refusal = windows::container_refusal(container, node_.gates); !refusal.empty())
            co_return Error(Reason::BadRequest, refusal);
    CO_TRY(Environment environment,
           co_await references_.environment(
               *context.pod, container,
               {.host_addresses = node_.host_addresses, .pod_addresses = context.addresses, .node_allocatable = node_.allocatable}));
    const MountedVolumes& volumes = context.prepared.volumes;
    const bool recursive_read_only = node_.can_mount_recursively_read_only(context.state.ready_sandbox()->runtime_handler);
    CO_TRY(auto mounts, co_await volumes_.mounts_for(*context.pod, container, volumes, environment, recursive_read_only));
    const std::string reader = node_.windows ? windows_reader(*context.pod, container, image.user) : "";
    if (!reader.empty()) CO_TRY_VOID(volumes_.admit(container, volumes, reader));
    CO_TRY(auto block_devices, volumes_.devices_for(container, volumes));
    CO_TRY_VOID(add_hosts_file(context, container, mounts));
    CO_TRY_VOID(add_termination_file(*context.pod, container, mounts));
    CO_TRY(ContainerDevices devices, co_await devices_.prepare_start(context.pod, container.name));
    std::string target;
    if (!spec.target_container.empty()) {
        const cri::ContainerStatus* found = context.state.find_newest(spec.target_container);
        if (!found || !is_running(*found))
            co_return Error(Reason::BadRequest, "unable to find target container \"" + spec.target_container + "\"");
        target = found->id;
    }
    const std::int32_t attempt = next_restart_count(context, container);
    CO_TRY_VOID(files_.create_directories(context.sandbox.log_directory + "/" + container.name, 0755));
    CO_TRY(cri::ContainerConfig config,
           make_container_config({.pod = *context.pod,
                                  .spec = spec,
                                  .attempt = attempt,
                                  .environment = std::move(environment),
                                  .mounts = std::move(mounts),
                                  .devices = std::move(block_devices),
                                  .cdi_devices = node_.runtime_knows_cdi ? devices.cdi_ids : std::vector<std::string>(),
                                  .image_ref = image.ref,
                                  .image_user = image.user,
                                  .extra_groups = VolumeManager::groups_for(*context.pod, volumes),
                                  .platform = settings_.platform,
                                  .users = users_of(context.sandbox),
                                  .target_container_id = target,
                                  .seccomp_root = settings_.seccomp_root,
                                  .cgroup_v2 = settings_.cgroup_v2,
                                  .seccomp_default = settings_.seccomp_default}));
    add_allocated_devices(devices.allocated, node_.windows, config);
    if (!node_.runtime_knows_cdi) CO_TRY_VOID(add_cdi_devices(files_, devices.cdi_ids, config));
    map_owners_of_mounts(config);
    co_return config;
}

bool ContainerPreparer::runs_on_host(const core::Pod& pod, const core::Container& container) const {
    return node_.windows && is_host_process(pod, container);
}

bool ContainerPreparer::mounts_files() const { return !node_.windows || windows::mounts_files(windows::runtime_of(node_.runtime_version)); }

bool ContainerPreparer::wants_hosts_file(const PodStartContext& context, const core::Container& container, const char* path) const {
    if (!mounts_files() || mounts_at(container, path)) return false;
    if (runs_on_host(*context.pod, container)) return false;  // it sees the host's own
    return context.pod->spec.host_network || !context.addresses.empty();
}

Result<void> ContainerPreparer::add_hosts_file(const PodStartContext& context, const core::Container& container,
                                               std::vector<cri::Mount>& mounts) {
    const std::string directory = volumes_.pod_directory(context.pod->metadata.uid);
    const core::PodSpec& spec = context.pod->spec;
    const char* path = node_.windows ? WindowsHostsPath : HostsPath;
    if (!wants_hosts_file(context, container, path)) return {};
    const std::string text = spec.host_network ? host_network_hosts_file(files_.read(path).value_or(""), spec.host_aliases)
                                               : hosts_file(context.addresses, context.prepared.hostname, spec.host_aliases);
    TRY_VOID(files_.create_directories(directory, 0750));
    TRY_VOID(files_.write(directory + "/etc-hosts", text, 0644));
    add_mount(directory + "/etc-hosts", path, mounts);
    return {};
}

Result<void> ContainerPreparer::add_termination_file(const core::Pod& pod, const core::Container& container,
                                                     std::vector<cri::Mount>& mounts) {
    if (!mounts_files() || container.termination_message_path.empty()) return {};
    const std::string directory = volumes_.pod_directory(pod.metadata.uid) + "/containers/" + container.name;
    const std::string file = directory + "/" + random_.pick(8, "0123456789abcdef");
    TRY_VOID(files_.create_directories(directory, 0750));
    TRY_VOID(files_.write(file, "", 0666));  // any user that the container runs as may write it
    add_mount(file, container.termination_message_path, mounts);
    return {};
}

void ContainerPreparer::add_mount(std::string file, std::string container_path, std::vector<cri::Mount>& mounts) const {
    cri::Mount& mount = mounts.emplace_back();
    mount.container_path = std::move(container_path);
    mount.host_path = std::move(file);
    mount.selinux_relabel = settings_.selinux;
}

/// One more than the last attempt; where the runtime has forgotten that, one more than the highest log file.
std::int32_t ContainerPreparer::next_restart_count(const PodStartContext& context, const core::Container& container) {
    if (const cri::ContainerStatus* newest = context.state.find_newest(container.name))
        return newest->state == cri::ContainerState::ContainerCreated ? restart_count_of(*newest) : restart_count_of(*newest) + 1;
    std::int32_t next = 0;
    const auto names = files_.list(context.sandbox.log_directory + "/" + container.name);
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        std::int32_t number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error == std::errc() && std::string_view(end).starts_with(".log")) next = std::max(next, number + 1);
    }
    return next;
}

}  // namespace porthole::kubelet
