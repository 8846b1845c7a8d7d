#include "winhost/cri/cri_server.h"

#include "schema/protobuf/protobuf.h"

namespace porthole::winhost {
namespace {

constexpr std::size_t LargestRequest = 16 << 20;  // bytes, as containerd's

template <class Service, class Request, class Response>
Task<std::string> answer(Service& service, Task<Response> (Service::*member)(Request), std::string bytes) {
    CO_TRY(Request request, schema::decode_protobuf<Request>(bytes));
    CO_TRY(const Response response, co_await (service.*member)(std::move(request)));
    co_return schema::encode_protobuf(response);
}

template <class Service, class Request, class Response>
void add(net::GrpcHandler& grpc, Service& service, const char* path, Task<Response> (Service::*member)(Request)) {
    grpc.add(path, [&service, member](std::string bytes) { return answer(service, member, std::move(bytes)); });
}

}  // namespace

void serve_cri(net::GrpcHandler& grpc, kubelet::RuntimeService& runtime, kubelet::ImageService& images) {
    using R = kubelet::RuntimeService;
    using M = cri::RuntimeService;
    add(grpc, runtime, M::Version.path, &R::version);
    add(grpc, runtime, M::Status.path, &R::status);
    add(grpc, runtime, M::RunPodSandbox.path, &R::run_pod_sandbox);
    add(grpc, runtime, M::StopPodSandbox.path, &R::stop_pod_sandbox);
    add(grpc, runtime, M::RemovePodSandbox.path, &R::remove_pod_sandbox);
    add(grpc, runtime, M::PodSandboxStatus.path, &R::pod_sandbox_status);
    add(grpc, runtime, M::ListPodSandbox.path, &R::list_pod_sandbox);
    add(grpc, runtime, M::CreateContainer.path, &R::create_container);
    add(grpc, runtime, M::StartContainer.path, &R::start_container);
    add(grpc, runtime, M::StopContainer.path, &R::stop_container);
    add(grpc, runtime, M::RemoveContainer.path, &R::remove_container);
    add(grpc, runtime, M::ListContainers.path, &R::list_containers);
    add(grpc, runtime, M::ContainerStatus.path, &R::container_status);
    add(grpc, runtime, M::UpdateContainerResources.path, &R::update_container_resources);
    add(grpc, runtime, M::ReopenContainerLog.path, &R::reopen_container_log);
    add(grpc, runtime, M::ExecSync.path, &R::exec_sync);
    add(grpc, runtime, M::Exec.path, &R::exec);
    add(grpc, runtime, M::Attach.path, &R::attach);
    add(grpc, runtime, M::PortForward.path, &R::port_forward);
    add(grpc, runtime, M::ListContainerStats.path, &R::list_container_stats);
    add(grpc, runtime, M::ListPodSandboxStats.path, &R::list_pod_sandbox_stats);
    add(grpc, runtime, M::UpdateRuntimeConfig.path, &R::update_runtime_config);
    using I = kubelet::ImageService;
    using N = cri::ImageService;
    add(grpc, images, N::ListImages.path, &I::list_images);
    add(grpc, images, N::ImageStatus.path, &I::image_status);
    add(grpc, images, N::PullImage.path, &I::pull_image);
    add(grpc, images, N::RemoveImage.path, &I::remove_image);
    add(grpc, images, N::ImageFsInfo.path, &I::image_fs_info);
}

CriServer::CriServer(AsioLoop& loop, Random& random, Runtime& runtime, kubelet::ImageService& images, Logger log)
    : loop_(loop),
      streaming_(loop, random, runtime),
      grpc_server_(loop, grpc_, {.body_limit = LargestRequest}, log),
      streaming_server_(loop, streaming_, {}, log) {
    serve_cri(grpc_, runtime, images);
    runtime.set_streams(&streaming_);
}

Result<void> CriServer::listen(const CriServerOptions& options) {
    TRY(const std::uint16_t port, streaming_server_.listen("127.0.0.1", 0));
    streaming_.set_base("http://127.0.0.1:" + std::to_string(port));
    TRY_VOID(grpc_server_.listen_unix(options.unix_socket));
    TRY(gate_, TokenGate::listen(loop_, options.tcp_port, options.token, options.unix_socket));
    return {};
}

Task<> CriServer::close() {
    if (gate_) CO_TRY_VOID(co_await gate_->close());
    CO_TRY_VOID(co_await grpc_server_.close());
    co_return co_await streaming_server_.close();
}

}  // namespace porthole::winhost
