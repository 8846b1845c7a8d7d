#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kubelet/cri/cri.h"
#include "winhost/runtime/context.h"

namespace porthole::winhost {

/// Creates addresses (URLs) for the streams of exec, attach and port-forward.
class StreamAddresses {
public:
    virtual ~StreamAddresses() = default;
    virtual std::string exec(cri::ExecRequest request) = 0;
    virtual std::string attach(cri::AttachRequest request) = 0;
    virtual std::string port_forward(cri::PortForwardRequest request) = 0;
};

/// The container runtime of an emulated Windows host: CRI's calls over sandboxes and Wine containers.
///
/// Does not own its containers' processes: after it was killed and started again with the same directory, it finds them running, or how
/// they ended. Errors are those of RuntimeService; messages are Windows' own if Windows has one for the case. Lives on one loop; close() it
/// before destroying it.
class Runtime final : public kubelet::RuntimeService {
public:
    Runtime(RuntimeContext context, RuntimeOptions options);
    ~Runtime() override;

    /// Adopts existing containers and removes those without a record. Errors: BadRequest for a path that is too long, Io.
    Task<> start();
    /// Stops watching; containers go on.
    Task<> close();
    /// Simulates a power failure of the host: every process of every pod ends at once. Afterwards sandboxes are not ready and have no
    /// namespace, and containers have ended; the kubelet finds and removes them.
    Task<> power_off();
    /// Ends and removes every pod completely.
    Task<> remove_everything();
    /// `streams` must outlive this, or be set to null before.
    void set_streams(StreamAddresses* streams);

    // For the streaming server.
    /// The socket of a running container's init. Error: NotFound, Conflict if it does not run.
    Result<std::string> container_socket(const std::string& container_id) const;
    Result<std::string> sandbox_socket(const std::string& sandbox_id) const;
    /// The input for a command in the container: with the container's own environment and directory.
    Result<std::string> exec_spec(const std::string& container_id, const std::vector<std::string>& command) const;
    bool has_terminal(const std::string& container_id) const;

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

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace porthole::winhost
