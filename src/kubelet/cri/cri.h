#pragma once
#include "api/cri_v1.h"
#include "runtime/task.h"

namespace porthole::kubelet {

namespace cri = api::cri::v1;

/// Sandboxes and containers, as the Container Runtime Interface has them (k8s.io/cri-api, runtime.v1). Used on the kubelet's loop;
/// several calls may be in progress at a time, and cancelling one does not undo it.
///
/// Errors: Unavailable if the runtime cannot be reached; NotFound for an unknown id; Timeout; Unknown with the runtime's words
/// otherwise.
class RuntimeService {
public:
    virtual ~RuntimeService() = default;
    virtual Task<cri::VersionResponse> version(cri::VersionRequest request) = 0;
    virtual Task<cri::StatusResponse> status(cri::StatusRequest request) = 0;

    virtual Task<cri::RunPodSandboxResponse> run_pod_sandbox(cri::RunPodSandboxRequest request) = 0;
    virtual Task<cri::StopPodSandboxResponse> stop_pod_sandbox(cri::StopPodSandboxRequest request) = 0;
    virtual Task<cri::RemovePodSandboxResponse> remove_pod_sandbox(cri::RemovePodSandboxRequest request) = 0;
    virtual Task<cri::PodSandboxStatusResponse> pod_sandbox_status(cri::PodSandboxStatusRequest request) = 0;
    virtual Task<cri::ListPodSandboxResponse> list_pod_sandbox(cri::ListPodSandboxRequest request) = 0;

    virtual Task<cri::CreateContainerResponse> create_container(cri::CreateContainerRequest request) = 0;
    virtual Task<cri::StartContainerResponse> start_container(cri::StartContainerRequest request) = 0;
    /// Takes up to `timeout` seconds: the time between the stop signal and the kill.
    virtual Task<cri::StopContainerResponse> stop_container(cri::StopContainerRequest request) = 0;
    virtual Task<cri::RemoveContainerResponse> remove_container(cri::RemoveContainerRequest request) = 0;
    virtual Task<cri::ListContainersResponse> list_containers(cri::ListContainersRequest request) = 0;
    virtual Task<cri::ContainerStatusResponse> container_status(cri::ContainerStatusRequest request) = 0;
    virtual Task<cri::UpdateContainerResourcesResponse> update_container_resources(cri::UpdateContainerResourcesRequest request) = 0;
    virtual Task<cri::ReopenContainerLogResponse> reopen_container_log(cri::ReopenContainerLogRequest request) = 0;

    virtual Task<cri::ExecSyncResponse> exec_sync(cri::ExecSyncRequest request) = 0;
    virtual Task<cri::ExecResponse> exec(cri::ExecRequest request) = 0;
    virtual Task<cri::AttachResponse> attach(cri::AttachRequest request) = 0;
    virtual Task<cri::PortForwardResponse> port_forward(cri::PortForwardRequest request) = 0;

    virtual Task<cri::ListContainerStatsResponse> list_container_stats(cri::ListContainerStatsRequest request) = 0;
    virtual Task<cri::ListPodSandboxStatsResponse> list_pod_sandbox_stats(cri::ListPodSandboxStatsRequest request) = 0;
    virtual Task<cri::UpdateRuntimeConfigResponse> update_runtime_config(cri::UpdateRuntimeConfigRequest request) = 0;
};

/// Images on the node. As above.
class ImageService {
public:
    virtual ~ImageService() = default;
    virtual Task<cri::ListImagesResponse> list_images(cri::ListImagesRequest request) = 0;
    /// No image in the response when it is not there.
    virtual Task<cri::ImageStatusResponse> image_status(cri::ImageStatusRequest request) = 0;
    virtual Task<cri::PullImageResponse> pull_image(cri::PullImageRequest request) = 0;
    virtual Task<cri::RemoveImageResponse> remove_image(cri::RemoveImageRequest request) = 0;
    virtual Task<cri::ImageFsInfoResponse> image_fs_info(cri::ImageFsInfoRequest request) = 0;
};

}  // namespace porthole::kubelet
