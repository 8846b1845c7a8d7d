#include "kubelet/lifecycle/container_starter.h"

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "base/time/time.h"
#include "kubelet/container/windows_config.h"
#include "kubelet/devices/cdi_specs.h"
#include "kubelet/lifecycle/container_killer.h"
#include "runtime/random.h"

namespace porthole::kubelet {
namespace {

constexpr const char* HostsPath = "/etc/hosts";
constexpr const char* WindowsHostsPath = "C:\\Windows\\System32\\drivers\\etc\\hosts";
constexpr Duration HookLimit = std::chrono::hours(1);  // a postStart hook has no limit of its own

/// The wall-clock moment in the loop's own time.
MonotonicTime monotonic_of(const EventLoop& loop, std::int64_t nanoseconds_since_1970) {
    const Duration ago = loop.wall_now().time_since_epoch() - Duration(nanoseconds_since_1970);
    return loop.now() - std::max(ago, Duration::zero());
}

bool mounts_at(const core::Container& container, const std::string& path) {
    return std::any_of(container.volume_mounts.begin(), container.volume_mounts.end(),
                       [&](const core::VolumeMount& mount) { return mount.mount_path == path; });
}

std::string seconds_text(Duration delay) { return format_duration(std::chrono::floor<std::chrono::seconds>(delay)); }

}  // namespace

std::string ContainerStarter::restart_key(const core::Pod& pod, const core::Container& container) const {
    return pod.metadata.uid + "_" + container.name + "_" + container_hash(container);
}

Task<std::optional<WaitingReason>> ContainerStarter::start(const PodStartContext& context, ContainerSpec spec) {
    if (auto held = hold_back(context, spec)) co_return held;
    const ContainerKind kind = spec.kind;
    const bool host_process = config_.platform.windows && is_host_process(*context.pod, spec.container);
    counts_.add_start(kind, host_process);
    CO_TRY(auto failure, co_await try_to_start(context, std::move(spec)));
    if (failure) counts_.add_failure(kind, host_process, failure->reason);
    co_return failure;
}

Task<std::optional<WaitingReason>> ContainerStarter::try_to_start(const PodStartContext& context, ContainerSpec spec) {
    const core::ObjectReference reference = reference_to(*context.pod, &spec);
    const auto failed = [&](std::string reason, std::string message) {
        services_.events.warning(reference, "Failed", "Error: " + message);
        return std::optional(WaitingReason{std::move(reason), std::move(message)});
    };
    CO_TRY(ImageOutcome image, co_await services_.puller.ensure_image({.reference = reference_to(*context.pod, &spec),
                                                                       .pod_uid = context.pod->metadata.uid,
                                                                       .name = spec.container.image,
                                                                       .pull_policy = spec.container.image_pull_policy},
                                                                      context.pull_secrets, context.sandbox));
    if (image.failure) {
        services_.events.warning(reference, "Failed", "Error: " + image.failure->reason);
        co_return image.failure;
    }
    auto config = co_await prepare(context, spec, image);
    if (!config) {
        if (is_cancelled(config)) co_return std::move(config).error();
        co_return failed("CreateContainerConfigError", config.error().message);
    }
    const std::int32_t attempt = static_cast<std::int32_t>(config->metadata->attempt);
    cri::CreateContainerRequest create;
    create.pod_sandbox_id = context.sandbox_id;
    create.config = std::move(*config);
    create.sandbox_config = context.sandbox;
    auto created = co_await services_.runtime.create_container(std::move(create));
    if (!created) {
        if (is_cancelled(created)) co_return std::move(created).error();
        co_return failed("CreateContainerError", created.error().message);
    }
    const std::string id = created->container_id;
    services_.events.normal(reference, "Created", "Container created");

    cri::StartContainerRequest start;
    start.container_id = id;
    auto started = co_await services_.runtime.start_container(std::move(start));
    if (!started) {
        if (is_cancelled(started)) co_return std::move(started).error();
        co_return failed("RunContainerError", started.error().message);
    }
    services_.events.normal(reference, "Started", "Container started");
    link_log(context, spec.container, id, attempt);
    if (!spec.container.lifecycle || !spec.container.lifecycle->post_start) co_return std::optional<WaitingReason>();
    co_return co_await run_post_start(context, std::move(spec), id);
}

/// A container that ended comes back at once the first time, then after 10 s, 20 s, …
std::optional<WaitingReason> ContainerStarter::hold_back(const PodStartContext& context, const ContainerSpec& spec) {
    const core::Pod& pod = *context.pod;
    const cri::ContainerStatus* newest = context.state.find_newest(spec.container.name);
    if (!newest || !is_exited(*newest)) return std::nullopt;
    const std::string key = restart_key(pod, spec.container);
    if (!restart_delay(pod, context.state, spec.container)) {
        restarts_.next(key, services_.loop.now());
        return std::nullopt;
    }
    services_.events.warning(reference_to(pod, &spec), "BackOff",
                             "Back-off restarting failed container " + spec.container.name + " in pod " + pod_full_text(pod));
    return WaitingReason{"CrashLoopBackOff", "back-off " + seconds_text(restarts_.delay(key)) +
                                                 " restarting failed container=" + spec.container.name + " pod=" + pod_full_text(pod)};
}

std::optional<Duration> ContainerStarter::restart_delay(const core::Pod& pod, const PodRuntimeState& state,
                                                        const core::Container& container) const {
    const cri::ContainerStatus* newest = state.find_newest(container.name);
    if (!newest || !is_exited(*newest)) return std::nullopt;
    const std::string key = restart_key(pod, container);
    const MonotonicTime ended = monotonic_of(services_.loop, newest->finished_at);
    if (!restarts_.is_waiting(key, ended, services_.loop.now())) return std::nullopt;
    return ended + restarts_.delay(key) - services_.loop.now();
}

Task<cri::ContainerConfig> ContainerStarter::prepare(const PodStartContext& context, const ContainerSpec& spec, const ImageOutcome& image) {
    const core::Container& container = spec.container;
    if (config_.platform.windows)
        if (const std::string refusal = windows::container_refusal(container, config_.gates); !refusal.empty())
            co_return Error(Reason::BadRequest, refusal);
    CO_TRY(Environment environment,
           co_await make_environment(*context.pod, container, context.downward, context.services, services_.objects));
    CO_TRY(auto mounts,
           co_await services_.volumes.mounts_for(*context.pod, container, context.volumes, environment, context.recursive_read_only));
    const std::string reader = config_.platform.windows ? windows_reader(*context.pod, container, image.user) : "";
    if (!reader.empty()) CO_TRY_VOID(services_.volumes.admit(container, context.volumes, reader));
    CO_TRY(auto block_devices, services_.volumes.devices_for(container, context.volumes));
    CO_TRY_VOID(add_own_mounts(context, container, mounts));
    CO_TRY(ContainerDevices devices, co_await services_.devices.prepare_start(context.pod, container.name));
    std::string target;
    if (!spec.target_container.empty()) {
        const cri::ContainerStatus* found = context.state.find_newest(spec.target_container);
        if (!found || !is_running(*found))
            co_return Error(Reason::BadRequest, "unable to find target container \"" + spec.target_container + "\"");
        target = found->id;
    }
    const std::int32_t attempt = next_restart_count(context, container);
    CO_TRY_VOID(services_.files.create_directories(context.sandbox.log_directory + "/" + container.name, 0755));
    CO_TRY(cri::ContainerConfig config,
           make_container_config({.pod = *context.pod,
                                  .spec = spec,
                                  .attempt = attempt,
                                  .environment = std::move(environment),
                                  .mounts = std::move(mounts),
                                  .devices = std::move(block_devices),
                                  .cdi_devices = context.runtime_knows_cdi ? devices.cdi_ids : std::vector<std::string>(),
                                  .image_ref = image.ref,
                                  .image_user = image.user,
                                  .extra_groups = VolumeManager::groups_for(*context.pod, context.volumes),
                                  .platform = config_.platform,
                                  .users = users_of(context.sandbox),
                                  .target_container_id = target,
                                  .seccomp_root = config_.root_directory + "/seccomp",
                                  .cgroup_v2 = config_.cgroup_v2,
                                  .seccomp_default = config_.seccomp_default}));
    add_allocated_devices(devices.allocated, config_.platform.windows, config);
    if (!context.runtime_knows_cdi) CO_TRY_VOID(add_cdi_devices(services_.files, devices.cdi_ids, config));
    map_owners_of_mounts(config);
    co_return config;
}

bool ContainerStarter::wants_hosts_file(const PodStartContext& context, const core::Container& container, const char* path) const {
    if (!context.mounts_files || mounts_at(container, path)) return false;
    if (config_.platform.windows && is_host_process(*context.pod, container)) return false;  // it sees the host's own
    return context.pod->spec.host_network || !context.downward.pod_addresses.empty();
}

/// The hosts file and the file for the termination message.
Result<void> ContainerStarter::add_own_mounts(const PodStartContext& context, const core::Container& container,
                                              std::vector<cri::Mount>& mounts) {
    const std::string directory = services_.volumes.pod_directory(context.pod->metadata.uid);
    FileSystem& files = services_.files;
    const core::PodSpec& spec = context.pod->spec;
    const char* hosts_path = config_.platform.windows ? WindowsHostsPath : HostsPath;
    if (wants_hosts_file(context, container, hosts_path)) {
        const std::string text = spec.host_network ? host_network_hosts_file(files.read(hosts_path).value_or(""), spec.host_aliases)
                                                   : hosts_file(context.downward.pod_addresses, context.hostname, spec.host_aliases);
        TRY_VOID(files.create_directories(directory, 0750));
        TRY_VOID(files.write(directory + "/etc-hosts", text, 0644));
        cri::Mount& mount = mounts.emplace_back();
        mount.container_path = hosts_path;
        mount.host_path = directory + "/etc-hosts";
        mount.selinux_relabel = config_.selinux;
    }
    if (context.mounts_files && !container.termination_message_path.empty()) {
        const std::string place = directory + "/containers/" + container.name;
        const std::string file = place + "/" + services_.random.pick(8, "0123456789abcdef");
        TRY_VOID(files.create_directories(place, 0750));
        TRY_VOID(files.write(file, "", 0666));  // whoever the container runs as may write it
        cri::Mount& mount = mounts.emplace_back();
        mount.container_path = container.termination_message_path;
        mount.host_path = file;
        mount.selinux_relabel = config_.selinux;
    }
    return {};
}

/// One more than the last attempt; where the runtime has forgotten that, one more than the highest log file.
std::int32_t ContainerStarter::next_restart_count(const PodStartContext& context, const core::Container& container) {
    if (const cri::ContainerStatus* newest = context.state.find_newest(container.name))
        return newest->state == cri::ContainerState::ContainerCreated ? restart_count_of(*newest) : restart_count_of(*newest) + 1;
    std::int32_t next = 0;
    const auto names = services_.files.list(context.sandbox.log_directory + "/" + container.name);
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        std::int32_t number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error == std::errc() && std::string_view(end).starts_with(".log")) next = std::max(next, number + 1);
    }
    return next;
}

Task<std::optional<WaitingReason>> ContainerStarter::run_post_start(const PodStartContext& context, ContainerSpec spec, std::string id) {
    const std::string address = context.downward.pod_addresses.empty() ? "" : context.downward.pod_addresses.front();
    auto hooked = co_await run_hook(services_.loop, services_.runtime, services_.network, *spec.container.lifecycle->post_start,
                                    spec.container, id, address, HookLimit);
    if (hooked) co_return std::optional<WaitingReason>();
    if (is_cancelled(hooked)) co_return std::move(hooked).error();
    const core::ObjectReference reference = reference_to(*context.pod, &spec);
    services_.log.warn("postStart hook failed",
                       {{"pod", pod_key(*context.pod)}, {"container", spec.container.name}, {"error", hooked.error().message}});
    services_.events.warning(reference, "FailedPostStartHook", "PostStartHook failed");
    services_.events.normal(reference, "Killing", "FailedPostStartHook");
    cri::StopContainerRequest stop;
    stop.container_id = id;
    stop.timeout = std::chrono::ceil<std::chrono::seconds>(grace_period(*context.pod, std::nullopt)).count();
    CO_TRY_VOID(co_await services_.runtime.stop_container(std::move(stop)));
    co_return WaitingReason{"PostStartHookError", "PostStartHook failed: " + hooked.error().message};
}

/// `/var/log/containers/<pod>_<namespace>_<container>-<id>.log`, where log shippers look.
void ContainerStarter::link_log(const PodStartContext& context, const core::Container& container, const std::string& id,
                                std::int32_t attempt) {
    if (config_.log_link_directory.empty()) return;
    const std::string link = config_.log_link_directory + "/" + context.pod->metadata.name + "_" + context.pod->metadata.namespace_ + "_" +
                             container.name + "-" + id + ".log";
    const std::string log = context.sandbox.log_directory + "/" + container.name + "/" + std::to_string(attempt) + ".log";
    (void)services_.files.create_directories(config_.log_link_directory, 0755);
    (void)services_.files.remove(link);
    const auto made = services_.files.create_symlink(log, link);
    if (!made && !log_links_fail_)
        services_.log.warn("links to logs cannot be made", {{"folder", config_.log_link_directory}, {"error", made.error().message}});
    log_links_fail_ = !made;
}

}  // namespace porthole::kubelet
