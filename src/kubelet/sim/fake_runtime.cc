#include "kubelet/sim/fake_runtime.h"

#include <algorithm>

#include "kubelet/cri/image_info.h"
#include "kubelet/pod/pod.h"

namespace porthole::kubelet::sim {
namespace {

Error not_found(const std::string& what, const std::string& id) { return Error(Reason::NotFound, what + " \"" + id + "\": not found"); }

bool selected(const std::map<std::string, std::string>& labels, const std::map<std::string, std::string>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
        const auto found = labels.find(pair.first);
        return found != labels.end() && found->second == pair.second;
    });
}

std::string pod_of(const std::map<std::string, std::string>& labels) {
    const auto found = labels.find(PodNameLabel);
    return found == labels.end() ? "" : found->second;
}

}  // namespace

FakeRuntime::FakeRuntime(EventLoop& loop, std::string address_prefix) : loop_(loop), address_prefix_(std::move(address_prefix)) {}

Task<> FakeRuntime::enter(const char* method, bool counted) {
    if (counted) calls_.emplace_back(method);
    if (latency > Duration::zero()) CO_TRY_VOID(co_await loop_.sleep(latency));
    if (fault)
        if (auto error = fault(method)) co_return *error;
    co_return {};
}

/// Strictly growing, so that the order of making is the order of times.
std::int64_t FakeRuntime::now() {
    last_time_ = std::max<std::int64_t>(loop_.wall_now().time_since_epoch().count(), last_time_ + 1);
    return last_time_;
}

std::string FakeRuntime::next_id(const char* prefix) { return prefix + std::to_string(++ids_); }

void FakeRuntime::add_image(const std::string& name, cri::Image image) {
    if (image.id.empty()) image.id = "sha256:" + name;
    image.repo_tags = {name};
    if (image.size == 0) image.size = 1000;
    images_[name] = std::move(image);
}

Result<FakeRuntime::Container*> FakeRuntime::container(const std::string& id) {
    const auto found = containers_.find(id);
    if (found == containers_.end()) return not_found("container", id);
    return &found->second;
}

FakeRuntime::Container* FakeRuntime::find_newest(const std::string& pod, const std::string& name) {
    Container* newest = nullptr;
    for (auto& [id, one] : containers_)
        if (pod_of(one.status.labels) == pod && name_of(one.status) == name &&
            (!newest || one.status.created_at > newest->status.created_at))
            newest = &one;
    return newest;
}

const FakeRuntime::Container* FakeRuntime::find(const std::string& pod, const std::string& name) const {
    return const_cast<FakeRuntime*>(this)->find_newest(pod, name);
}

std::vector<std::string> FakeRuntime::running(const std::string& pod) const {
    std::vector<std::string> names;
    for (const auto& [id, one] : containers_)
        if (pod_of(one.status.labels) == pod && is_running(one.status)) names.push_back(name_of(one.status));
    std::sort(names.begin(), names.end());
    return names;
}

void FakeRuntime::end(const std::string& id, std::int32_t code, std::string reason) {
    const auto found = containers_.find(id);
    if (found == containers_.end() || !is_running(found->second.status)) return;
    cri::ContainerStatus& status = found->second.status;
    status.state = cri::ContainerState::ContainerExited;
    status.exit_code = code;
    status.reason = !reason.empty() ? std::move(reason) : code == 0 ? "Completed" : "Error";
    status.message = found->second.behavior.message;
    status.finished_at = now();
}

void FakeRuntime::exit(const std::string& pod, const std::string& name, std::int32_t code, std::string reason) {
    if (Container* newest = find_newest(pod, name)) end(newest->status.id, code, std::move(reason));
}

void FakeRuntime::kill_sandbox(const std::string& pod) {
    for (auto& [id, sandbox] : sandboxes_)
        if (pod_of(sandbox.labels) == pod) sandbox.state = cri::PodSandboxState::SandboxNotready;
}

Task<cri::VersionResponse> FakeRuntime::version(cri::VersionRequest) {
    CO_TRY_VOID(co_await enter("Version", false));
    cri::VersionResponse response;
    response.runtime_name = runtime_name;
    response.runtime_version = runtime_version;
    response.runtime_api_version = "v1";
    co_return response;
}

Task<cri::StatusResponse> FakeRuntime::status(cri::StatusRequest request) {
    CO_TRY_VOID(co_await enter("Status", false));
    cri::StatusResponse response;
    response.status.emplace();
    cri::RuntimeCondition runtime;
    runtime.type = "RuntimeReady";
    runtime.status = runtime_ready;
    cri::RuntimeCondition network;
    network.type = "NetworkReady";
    network.status = network_ready;
    if (!network_ready) {
        network.reason = "NetworkPluginNotReady";
        network.message = "cni plugin not initialized";
    }
    response.status->conditions = {runtime, network};
    response.runtime_handlers = handlers;
    if (request.verbose && !configuration.empty()) response.info["config"] = configuration;
    co_return response;
}

Task<cri::RunPodSandboxResponse> FakeRuntime::run_pod_sandbox(cri::RunPodSandboxRequest request) {
    CO_TRY_VOID(co_await enter("RunPodSandbox", true));
    cri::PodSandboxStatus sandbox;
    sandbox.id = next_id("sandbox-");
    sandbox.metadata = request.config->metadata;
    sandbox.state = cri::PodSandboxState::SandboxReady;
    sandbox.created_at = now();
    sandbox.labels = request.config->labels;
    sandbox.annotations = request.config->annotations;
    sandbox.runtime_handler = request.runtime_handler;
    const auto security = request.config->linux ? request.config->linux->security_context : std::nullopt;
    if (security) sandbox.linux.emplace().namespaces.emplace().options = security->namespace_options;
    const bool own_network = !security || !security->namespace_options || security->namespace_options->network == cri::NamespaceMode::Pod;
    sandbox.network.emplace();
    if (own_network) {
        const std::string number = std::to_string(++addresses_);
        sandbox.network->ip = address_prefix_ + number;
        if (!second_address_prefix.empty()) sandbox.network->additional_ips.push_back({.ip = second_address_prefix + number});
    }
    cri::RunPodSandboxResponse response;
    response.pod_sandbox_id = sandbox.id;
    sandboxes_[sandbox.id] = std::move(sandbox);
    co_return response;
}

Task<cri::StopPodSandboxResponse> FakeRuntime::stop_pod_sandbox(cri::StopPodSandboxRequest request) {
    CO_TRY_VOID(co_await enter("StopPodSandbox", true));
    const auto found = sandboxes_.find(request.pod_sandbox_id);
    if (found == sandboxes_.end()) co_return not_found("sandbox", request.pod_sandbox_id);
    found->second.state = cri::PodSandboxState::SandboxNotready;
    for (auto& [id, one] : containers_)
        if (one.sandbox_id == request.pod_sandbox_id) end(id, 137, "Error");
    co_return cri::StopPodSandboxResponse();
}

Task<cri::RemovePodSandboxResponse> FakeRuntime::remove_pod_sandbox(cri::RemovePodSandboxRequest request) {
    CO_TRY_VOID(co_await enter("RemovePodSandbox", true));
    std::erase_if(containers_, [&](const auto& item) { return item.second.sandbox_id == request.pod_sandbox_id; });
    sandboxes_.erase(request.pod_sandbox_id);
    co_return cri::RemovePodSandboxResponse();
}

Task<cri::PodSandboxStatusResponse> FakeRuntime::pod_sandbox_status(cri::PodSandboxStatusRequest request) {
    CO_TRY_VOID(co_await enter("PodSandboxStatus", false));
    const auto found = sandboxes_.find(request.pod_sandbox_id);
    if (found == sandboxes_.end()) co_return not_found("sandbox", request.pod_sandbox_id);
    cri::PodSandboxStatusResponse response;
    response.status = found->second;
    co_return response;
}

Task<cri::ListPodSandboxResponse> FakeRuntime::list_pod_sandbox(cri::ListPodSandboxRequest request) {
    CO_TRY_VOID(co_await enter("ListPodSandbox", false));
    cri::ListPodSandboxResponse response;
    for (const auto& [id, from] : sandboxes_) {
        if (request.filter && !selected(from.labels, request.filter->label_selector)) continue;
        cri::PodSandbox& item = response.items.emplace_back();
        item.id = from.id;
        item.metadata = from.metadata;
        item.state = from.state;
        item.created_at = from.created_at;
        item.labels = from.labels;
        item.annotations = from.annotations;
    }
    co_return response;
}

Task<cri::CreateContainerResponse> FakeRuntime::create_container(cri::CreateContainerRequest request) {
    CO_TRY_VOID(co_await enter("CreateContainer", true));
    const auto sandbox = sandboxes_.find(request.pod_sandbox_id);
    if (sandbox == sandboxes_.end()) co_return not_found("sandbox", request.pod_sandbox_id);
    Container made;
    made.config = std::move(*request.config);
    made.sandbox_id = request.pod_sandbox_id;
    made.status.id = next_id("container-");
    made.status.metadata = made.config.metadata;
    made.status.state = cri::ContainerState::ContainerCreated;
    made.status.created_at = now();
    made.status.image = made.config.image;
    made.status.image->image = made.config.image->user_specified_image;
    made.status.image_ref = made.config.image->image;
    made.status.labels = made.config.labels;
    made.status.annotations = made.config.annotations;
    made.status.mounts = made.config.mounts;
    made.status.log_path = request.sandbox_config->log_directory + "/" + made.config.log_path;
    if (behavior) made.behavior = behavior(made.config);
    cri::CreateContainerResponse response;
    response.container_id = made.status.id;
    containers_[made.status.id] = std::move(made);
    co_return response;
}

Task<cri::StartContainerResponse> FakeRuntime::start_container(cri::StartContainerRequest request) {
    CO_TRY_VOID(co_await enter("StartContainer", true));
    CO_TRY(Container * one, container(request.container_id));
    if (!one->behavior.start_error.empty()) {
        one->status.state = cri::ContainerState::ContainerExited;
        one->status.exit_code = 128;
        one->status.reason = "StartError";
        one->status.message = one->behavior.start_error;
        one->status.finished_at = now();
        co_return Error(Reason::Unknown, one->behavior.start_error);
    }
    one->status.state = cri::ContainerState::ContainerRunning;
    one->status.started_at = now();
    if (one->behavior.runs_for)
        loop_.call_after(*one->behavior.runs_for, [this, id = one->status.id, code = one->behavior.exit_code] { end(id, code, ""); });
    co_return cri::StartContainerResponse();
}

Task<cri::StopContainerResponse> FakeRuntime::stop_container(cri::StopContainerRequest request) {
    CO_TRY_VOID(co_await enter("StopContainer", true));
    const std::string id = request.container_id;
    CO_TRY(const Container* one, container(id));
    if (!is_running(one->status)) co_return cri::StopContainerResponse();
    const Behavior obeys = one->behavior;
    const Duration grace = std::chrono::seconds(request.timeout);
    CO_TRY_VOID(co_await loop_.sleep(std::min(obeys.stops_after, grace)));
    end(id, obeys.stops_after > grace ? 137 : obeys.stopped_exit_code, "");
    co_return cri::StopContainerResponse();
}

Task<cri::RemoveContainerResponse> FakeRuntime::remove_container(cri::RemoveContainerRequest request) {
    CO_TRY_VOID(co_await enter("RemoveContainer", true));
    containers_.erase(request.container_id);
    co_return cri::RemoveContainerResponse();
}

Task<cri::ListContainersResponse> FakeRuntime::list_containers(cri::ListContainersRequest request) {
    CO_TRY_VOID(co_await enter("ListContainers", false));
    cri::ListContainersResponse response;
    for (const auto& [id, from] : containers_) {
        if (request.filter && !selected(from.status.labels, request.filter->label_selector)) continue;
        cri::Container& item = response.containers.emplace_back();
        item.id = from.status.id;
        item.pod_sandbox_id = from.sandbox_id;
        item.metadata = from.status.metadata;
        item.image = from.status.image;
        item.image_ref = from.status.image_ref;
        item.state = from.status.state;
        item.created_at = from.status.created_at;
        item.labels = from.status.labels;
        item.annotations = from.status.annotations;
    }
    co_return response;
}

Task<cri::ContainerStatusResponse> FakeRuntime::container_status(cri::ContainerStatusRequest request) {
    CO_TRY_VOID(co_await enter("ContainerStatus", false));
    CO_TRY(const Container* one, container(request.container_id));
    cri::ContainerStatusResponse response;
    response.status = one->status;
    co_return response;
}

Task<cri::UpdateContainerResourcesResponse> FakeRuntime::update_container_resources(cri::UpdateContainerResourcesRequest request) {
    CO_TRY_VOID(co_await enter("UpdateContainerResources", true));
    CO_TRY(Container * one, container(request.container_id));
    one->config.linux->resources = request.linux;
    co_return cri::UpdateContainerResourcesResponse();
}

Task<cri::ReopenContainerLogResponse> FakeRuntime::reopen_container_log(cri::ReopenContainerLogRequest) {
    CO_TRY_VOID(co_await enter("ReopenContainerLog", true));
    co_return cri::ReopenContainerLogResponse();
}

Task<cri::ExecSyncResponse> FakeRuntime::exec_sync(cri::ExecSyncRequest request) {
    CO_TRY_VOID(co_await enter("ExecSync", true));
    CO_TRY(const Container* one, container(request.container_id));
    if (!is_running(one->status)) co_return Error(Reason::Unknown, "container is not running");
    if (on_exec) co_return on_exec(one->config, request);
    co_return cri::ExecSyncResponse();
}

Task<cri::ExecResponse> FakeRuntime::exec(cri::ExecRequest) {
    co_return Error(Reason::MethodNotAllowed, "the fake runtime has no streams");
}
Task<cri::AttachResponse> FakeRuntime::attach(cri::AttachRequest) {
    co_return Error(Reason::MethodNotAllowed, "the fake runtime has no streams");
}
Task<cri::PortForwardResponse> FakeRuntime::port_forward(cri::PortForwardRequest) {
    co_return Error(Reason::MethodNotAllowed, "the fake runtime has no streams");
}

Task<cri::ListContainerStatsResponse> FakeRuntime::list_container_stats(cri::ListContainerStatsRequest request) {
    CO_TRY_VOID(co_await enter("ListContainerStats", false));
    cri::ListContainerStatsResponse response;
    for (const auto& [id, from] : containers_) {
        if (!is_running(from.status)) continue;
        if (request.filter && !selected(from.status.labels, request.filter->label_selector)) continue;
        cri::ContainerStats& stats = response.stats.emplace_back();
        stats.attributes.emplace().id = id;
        stats.attributes->labels = from.status.labels;
        stats.attributes->metadata = from.status.metadata;
        if (written) stats.writable_layer.emplace().used_bytes.emplace().value = written(pod_of(from.status.labels));
        const std::uint64_t used = memory ? memory(pod_of(from.status.labels)) : 0;
        stats.memory.emplace().working_set_bytes.emplace().value = used;
        stats.memory->usage_bytes.emplace().value = used;
    }
    co_return response;
}

Task<cri::ListPodSandboxStatsResponse> FakeRuntime::list_pod_sandbox_stats(cri::ListPodSandboxStatsRequest) {
    CO_TRY_VOID(co_await enter("ListPodSandboxStats", false));
    co_return cri::ListPodSandboxStatsResponse();
}

Task<cri::UpdateRuntimeConfigResponse> FakeRuntime::update_runtime_config(cri::UpdateRuntimeConfigRequest) {
    co_return cri::UpdateRuntimeConfigResponse();
}

Task<cri::ListImagesResponse> FakeRuntime::list_images(cri::ListImagesRequest) {
    CO_TRY_VOID(co_await enter("ListImages", false));
    cri::ListImagesResponse response;
    for (const auto& [name, image] : images_) response.images.push_back(image);
    co_return response;
}

Task<cri::ImageStatusResponse> FakeRuntime::image_status(cri::ImageStatusRequest request) {
    CO_TRY_VOID(co_await enter("ImageStatus", false));
    cri::ImageStatusResponse response;
    for (const auto& [name, image] : images_)
        if (name == request.image->image || image.id == request.image->image) response.image = image;
    const auto unusable = unusable_images.find(request.image->image);
    if (request.verbose && unusable != unusable_images.end()) response.info[std::string(UnusableImage)] = unusable->second;
    co_return response;
}

Task<cri::PullImageResponse> FakeRuntime::pull_image(cri::PullImageRequest request) {
    CO_TRY_VOID(co_await enter("PullImage", true));
    CO_TRY_VOID(co_await loop_.sleep(pull_time));
    const std::string name = request.image->image;
    if (missing_images.contains(name)) co_return Error(Reason::NotFound, "failed to pull and unpack image \"" + name + "\": not found");
    if (!images_.contains(name)) add_image(name);
    cri::PullImageResponse response;
    response.image_ref = images_[name].id;
    co_return response;
}

Task<cri::RemoveImageResponse> FakeRuntime::remove_image(cri::RemoveImageRequest request) {
    CO_TRY_VOID(co_await enter("RemoveImage", true));
    std::erase_if(images_, [&](const auto& item) { return item.first == request.image->image || item.second.id == request.image->image; });
    co_return cri::RemoveImageResponse();
}

Task<cri::ImageFsInfoResponse> FakeRuntime::image_fs_info(cri::ImageFsInfoRequest) {
    CO_TRY_VOID(co_await enter("ImageFsInfo", false));
    co_return cri::ImageFsInfoResponse();
}

}  // namespace porthole::kubelet::sim
