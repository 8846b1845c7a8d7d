#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubelet/cri/cri.h"
#include "runtime/event_loop.h"

namespace porthole::kubelet::sim {

/// A container's behavior after its start.
struct Behavior {
    std::optional<Duration> runs_for;  ///< nullopt: until it is stopped
    std::int32_t exit_code = 0;
    std::int32_t stopped_exit_code = 0;
    Duration stops_after{};   ///< time it takes to obey the stop signal; if longer than the grace period, it is killed (137)
    std::string start_error;  ///< StartContainer fails with it
    std::string message;      ///< the runtime's message about its end
};

/// A container runtime in memory: sandboxes with addresses, containers that run and end in the loop's time, images that must be
/// pulled. Survives the kubelet, as the real one does.
class FakeRuntime final : public RuntimeService, public ImageService {
public:
    /// Sandboxes get the addresses `address_prefix`1, 2, …
    explicit FakeRuntime(EventLoop& loop, std::string address_prefix = "10.244.0.");

    // Set by tests.
    std::function<Behavior(const cri::ContainerConfig&)> behavior;
    std::function<Result<cri::ExecSyncResponse>(const cri::ContainerConfig&, const cri::ExecSyncRequest&)> on_exec;
    std::function<std::uint64_t(const std::string& pod)> memory;   ///< working set of a pod's containers
    std::function<std::uint64_t(const std::string& pod)> written;  ///< writable layer of each of a pod's containers
    /// Called with the method's name before every call.
    std::function<std::optional<Error>(const std::string& method)> fault;
    Duration latency{};  ///< of every call
    Duration pull_time{};
    bool runtime_ready = true, network_ready = true;
    std::string configuration;          ///< that it shows, as JSON; "" for none
    std::string second_address_prefix;  ///< of another address of each pod; "" for none
    std::string runtime_name = "containerd", runtime_version = "1.6.20";
    std::vector<cri::RuntimeHandler> handlers;
    std::set<std::string> missing_images;                ///< not in any registry
    std::map<std::string, std::string> unusable_images;  ///< here, but of no use: name to why
    void add_image(const std::string& name, cri::Image image = {});

    // For tests to read and to change.
    struct Container {
        cri::ContainerStatus status;
        cri::ContainerConfig config;
        std::string sandbox_id;
        Behavior behavior;
        bool stopping = false;
    };
    const std::map<std::string, Container>& containers() const { return containers_; }
    const std::map<std::string, cri::PodSandboxStatus>& sandboxes() const { return sandboxes_; }
    /// The newest container of that name in a pod, or nullptr.
    const Container* find(const std::string& pod, const std::string& container) const;
    std::vector<std::string> running(const std::string& pod) const;  ///< names, sorted
    /// The process exits.
    void exit(const std::string& pod, const std::string& container, std::int32_t code, std::string reason = "");
    void kill_sandbox(const std::string& pod);
    const std::vector<std::string>& calls() const { return calls_; }  ///< methods, without lists and statuses

    Task<cri::VersionResponse> version(cri::VersionRequest request) override;
    Task<cri::StatusResponse> status(cri::StatusRequest request) override;
    Task<cri::RunPodSandboxResponse> run_pod_sandbox(cri::RunPodSandboxRequest request) override;
    Task<cri::StopPodSandboxResponse> stop_pod_sandbox(cri::StopPodSandboxRequest request) override;
    Task<cri::RemovePodSandboxResponse> remove_pod_sandbox(cri::RemovePodSandboxRequest request) override;
    Task<cri::PodSandboxStatusResponse> pod_sandbox_status(cri::PodSandboxStatusRequest request) override;
    Task<cri::ListPodSandboxResponse> list_pod_sandbox(cri::ListPodSandboxRequest request) override;
    Task<cri::CreateContainerResponse> create_container(cri::CreateContainerRequest request) override;
    Task<cri::StartContainerResponse> start_container(cri::StartContainerRequest request) override;
    Task<cri::StopContainerResponse> stop_container(cri::StopContainerRequest request) override;
    Task<cri::RemoveContainerResponse> remove_container(cri::RemoveContainerRequest request) override;
    Task<cri::ListContainersResponse> list_containers(cri::ListContainersRequest request) override;
    Task<cri::ContainerStatusResponse> container_status(cri::ContainerStatusRequest request) override;
    Task<cri::UpdateContainerResourcesResponse> update_container_resources(cri::UpdateContainerResourcesRequest request) override;
    Task<cri::ReopenContainerLogResponse> reopen_container_log(cri::ReopenContainerLogRequest request) override;
    Task<cri::ExecSyncResponse> exec_sync(cri::ExecSyncRequest request) override;
    Task<cri::ExecResponse> exec(cri::ExecRequest request) override;
    Task<cri::AttachResponse> attach(cri::AttachRequest request) override;
    Task<cri::PortForwardResponse> port_forward(cri::PortForwardRequest request) override;
    Task<cri::ListContainerStatsResponse> list_container_stats(cri::ListContainerStatsRequest request) override;
    Task<cri::ListPodSandboxStatsResponse> list_pod_sandbox_stats(cri::ListPodSandboxStatsRequest request) override;
    Task<cri::UpdateRuntimeConfigResponse> update_runtime_config(cri::UpdateRuntimeConfigRequest request) override;

    Task<cri::ListImagesResponse> list_images(cri::ListImagesRequest request) override;
    Task<cri::ImageStatusResponse> image_status(cri::ImageStatusRequest request) override;
    Task<cri::PullImageResponse> pull_image(cri::PullImageRequest request) override;
    Task<cri::RemoveImageResponse> remove_image(cri::RemoveImageRequest request) override;
    Task<cri::ImageFsInfoResponse> image_fs_info(cri::ImageFsInfoRequest request) override;

private:
    Task<> enter(const char* method, bool counted);
    std::int64_t now();
    std::string next_id(const char* prefix);
    Result<Container*> container(const std::string& id);
    void end(const std::string& id, std::int32_t code, std::string reason);
    Container* find_newest(const std::string& pod, const std::string& container);

    EventLoop& loop_;
    std::string address_prefix_;
    std::map<std::string, cri::PodSandboxStatus> sandboxes_;
    std::map<std::string, Container> containers_;
    std::map<std::string, cri::Image> images_;
    std::vector<std::string> calls_;
    std::uint64_t ids_ = 0, addresses_ = 0;
    std::int64_t last_time_ = 0;
};

}  // namespace porthole::kubelet::sim
