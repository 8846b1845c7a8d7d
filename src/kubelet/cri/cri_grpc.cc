#include "kubelet/cri/cri_grpc.h"

#include <algorithm>

#include "net/grpc/grpc.h"
#include "runtime/asio_loop.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration Usual = 2min;

/// "/runtime.v1.RuntimeService/Version" as runtimes before containerd 1.6 have it, with the same messages.
std::string in_older_version(std::string method) {
    constexpr std::string_view Newer = "/runtime.v1.", Older = "/runtime.v1alpha2.";
    if (method.starts_with(Newer)) method.replace(0, Newer.size(), Older);
    return method;
}

/// Encodes, calls and decodes one method, in the version of CRI that the runtime has.
class Caller {
public:
    explicit Caller(net::GrpcChannel& channel) : channel_(channel) {}

    template <class Method>
    Task<typename Method::Response> call(const Method& method, typename Method::Request request, Duration limit = Usual) {
        CO_TRY(const std::string reply, co_await call_either(method.path, schema::encode_protobuf(request), limit));
        co_return schema::decode_protobuf<typename Method::Response>(reply);
    }

private:
    /// A runtime that is replaced while we run may change the version: each refusal is asked again in the other one.
    Task<std::string> call_either(std::string method, std::string request, Duration limit) {
        const bool older = older_;
        auto reply = co_await channel_.call(older ? in_older_version(method) : method, request, limit);
        if (reply || net::grpc_status_of(reply.error()) != net::GrpcStatus::Unimplemented) co_return reply;
        auto other = co_await channel_.call(older ? method : in_older_version(method), std::move(request), limit);
        // A method that neither version has says nothing of the version.
        if (!other && net::grpc_status_of(other.error()) == net::GrpcStatus::Unimplemented) co_return reply;
        older_ = !older;
        co_return other;
    }

    net::GrpcChannel& channel_;
    bool older_ = false;
};

class Runtime final : public RuntimeService, Caller {
public:
    using Caller::Caller;
    using Methods = cri::RuntimeService;

    Task<cri::VersionResponse> version(cri::VersionRequest request) override { return call(Methods::Version, std::move(request)); }
    Task<cri::StatusResponse> status(cri::StatusRequest request) override { return call(Methods::Status, std::move(request)); }
    Task<cri::RunPodSandboxResponse> run_pod_sandbox(cri::RunPodSandboxRequest request) override {
        return call(Methods::RunPodSandbox, std::move(request), 4min);
    }
    Task<cri::StopPodSandboxResponse> stop_pod_sandbox(cri::StopPodSandboxRequest request) override {
        return call(Methods::StopPodSandbox, std::move(request));
    }
    Task<cri::RemovePodSandboxResponse> remove_pod_sandbox(cri::RemovePodSandboxRequest request) override {
        return call(Methods::RemovePodSandbox, std::move(request));
    }
    Task<cri::PodSandboxStatusResponse> pod_sandbox_status(cri::PodSandboxStatusRequest request) override {
        return call(Methods::PodSandboxStatus, std::move(request));
    }
    Task<cri::ListPodSandboxResponse> list_pod_sandbox(cri::ListPodSandboxRequest request) override {
        return call(Methods::ListPodSandbox, std::move(request));
    }
    Task<cri::CreateContainerResponse> create_container(cri::CreateContainerRequest request) override {
        return call(Methods::CreateContainer, std::move(request));
    }
    Task<cri::StartContainerResponse> start_container(cri::StartContainerRequest request) override {
        return call(Methods::StartContainer, std::move(request));
    }
    Task<cri::StopContainerResponse> stop_container(cri::StopContainerRequest request) override {
        const Duration limit = Usual + std::chrono::seconds(std::max<std::int64_t>(request.timeout, 0));
        return call(Methods::StopContainer, std::move(request), limit);
    }
    Task<cri::RemoveContainerResponse> remove_container(cri::RemoveContainerRequest request) override {
        return call(Methods::RemoveContainer, std::move(request));
    }
    Task<cri::ListContainersResponse> list_containers(cri::ListContainersRequest request) override {
        return call(Methods::ListContainers, std::move(request));
    }
    Task<cri::ContainerStatusResponse> container_status(cri::ContainerStatusRequest request) override {
        return call(Methods::ContainerStatus, std::move(request));
    }
    Task<cri::UpdateContainerResourcesResponse> update_container_resources(cri::UpdateContainerResourcesRequest request) override {
        return call(Methods::UpdateContainerResources, std::move(request));
    }
    Task<cri::ReopenContainerLogResponse> reopen_container_log(cri::ReopenContainerLogRequest request) override {
        return call(Methods::ReopenContainerLog, std::move(request));
    }
    Task<cri::ExecSyncResponse> exec_sync(cri::ExecSyncRequest request) override {
        const Duration limit = Usual + std::chrono::seconds(std::max<std::int64_t>(request.timeout, 0));
        return call(Methods::ExecSync, std::move(request), limit);
    }
    Task<cri::ExecResponse> exec(cri::ExecRequest request) override { return call(Methods::Exec, std::move(request)); }
    Task<cri::AttachResponse> attach(cri::AttachRequest request) override { return call(Methods::Attach, std::move(request)); }
    Task<cri::PortForwardResponse> port_forward(cri::PortForwardRequest request) override {
        return call(Methods::PortForward, std::move(request));
    }
    Task<cri::ListContainerStatsResponse> list_container_stats(cri::ListContainerStatsRequest request) override {
        return call(Methods::ListContainerStats, std::move(request));
    }
    Task<cri::ListPodSandboxStatsResponse> list_pod_sandbox_stats(cri::ListPodSandboxStatsRequest request) override {
        return call(Methods::ListPodSandboxStats, std::move(request));
    }
    Task<cri::UpdateRuntimeConfigResponse> update_runtime_config(cri::UpdateRuntimeConfigRequest request) override {
        return call(Methods::UpdateRuntimeConfig, std::move(request));
    }
};

class Images final : public ImageService, Caller {
public:
    using Caller::Caller;
    using Methods = cri::ImageService;

    Task<cri::ListImagesResponse> list_images(cri::ListImagesRequest request) override {
        return call(Methods::ListImages, std::move(request));
    }
    Task<cri::ImageStatusResponse> image_status(cri::ImageStatusRequest request) override {
        return call(Methods::ImageStatus, std::move(request));
    }
    Task<cri::PullImageResponse> pull_image(cri::PullImageRequest request) override {
        return call(Methods::PullImage, std::move(request), 24h);
    }
    Task<cri::RemoveImageResponse> remove_image(cri::RemoveImageRequest request) override {
        return call(Methods::RemoveImage, std::move(request));
    }
    Task<cri::ImageFsInfoResponse> image_fs_info(cri::ImageFsInfoRequest request) override {
        return call(Methods::ImageFsInfo, std::move(request));
    }
};

class Connection final : public GrpcRuntime {
public:
    Connection(AsioLoop& loop, std::string path)
        : channel_(loop, net::Endpoint{.unix_path = std::move(path)}), runtime_(channel_), images_(channel_) {}

    RuntimeService& runtime() override { return runtime_; }
    ImageService& images() override { return images_; }
    Task<> close() override { return channel_.close(); }

private:
    net::GrpcChannel channel_;
    Runtime runtime_;
    Images images_;
};

}  // namespace

std::string runtime_path(std::string_view endpoint) {
    constexpr std::string_view UnixScheme = "unix://", PipeScheme = "npipe:";
    if (endpoint.starts_with(UnixScheme)) return std::string(endpoint.substr(UnixScheme.size()));
    if (!endpoint.starts_with(PipeScheme)) return std::string(endpoint);
    std::string path(endpoint.substr(PipeScheme.size()));
    std::ranges::replace(path, '/', '\\');
    // "npipe:////./pipe/x" is the usual form; with two slashes less the host is left out.
    const std::size_t slashes = std::min(path.find_first_not_of('\\'), path.size());
    path.erase(0, slashes);
    return path.starts_with(".\\") ? "\\\\" + path : "\\\\.\\" + path;
}

std::unique_ptr<GrpcRuntime> connect_runtime(AsioLoop& loop, const std::string& endpoint) {
    return std::make_unique<Connection>(loop, runtime_path(endpoint));
}

}  // namespace porthole::kubelet
