#include "kubelet/pod_resources/pod_resources_server.h"

#include "kubelet/pod_resources/pod_resources.h"
#include "runtime/files/closed_directory.h"

namespace porthole::kubelet {
namespace {

namespace told = api::podresources::v1;

/// A method whose answer is known at once.
template <class Request, class Answer>
PluginMethod answering(Answer answer) {
    return [answer](std::string bytes) -> Task<std::string> {
        CO_TRY(const Request request, schema::decode_protobuf<Request>(bytes));
        CO_TRY(const auto response, answer(request));
        co_return schema::encode_protobuf(response);
    };
}

}  // namespace

std::map<std::string, PluginMethod> PodResourcesServer::methods() {
    const auto list = [this](const told::ListPodResourcesRequest&) -> Result<told::ListPodResourcesResponse> {
        told::ListPodResourcesResponse response;
        for (const auto& pod : services_.pods())
            response.pod_resources.push_back(pod_resources(*pod, services_.plugins.allocations(), services_.claims.claims()));
        return response;
    };
    const auto get = [this](const told::GetPodResourcesRequest& wanted) -> Result<told::GetPodResourcesResponse> {
        told::GetPodResourcesResponse response;
        for (const auto& pod : services_.pods()) {
            if (pod->metadata.name != wanted.pod_name || pod->metadata.namespace_ != wanted.pod_namespace) continue;
            response.pod_resources = pod_resources(*pod, services_.plugins.allocations(), services_.claims.claims());
            return response;
        }
        return Error(Reason::NotFound, "pod " + wanted.pod_name + " in namespace " + wanted.pod_namespace + " not found");
    };
    const auto allocatable = [this](const told::AllocatableResourcesRequest&) -> Result<told::AllocatableResourcesResponse> {
        return allocatable_resources(services_.plugins.healthy_devices());
    };
    return {
        {std::string(told::PodResourcesLister::List.path), answering<told::ListPodResourcesRequest>(list)},
        {std::string(told::PodResourcesLister::Get.path), answering<told::GetPodResourcesRequest>(get)},
        {std::string(told::PodResourcesLister::GetAllocatableResources.path), answering<told::AllocatableResourcesRequest>(allocatable)}};
}

Task<> PodResourcesServer::run() {
    std::unique_ptr<PluginServer> server;
    Result<void> made = create_closed_directory(services_.files, directory_, services_.log);
    if (made) {
        auto serving = services_.connector.serve(directory_ + "/kubelet.sock", methods());
        if (serving)
            server = *std::move(serving);
        else
            made = serving.error();
    }
    if (!made) services_.log.warn("the devices of pods are not served to monitors", {{"error", made.error().message}});
    Event never;
    const auto ended = co_await never.wait();
    if (server) CO_TRY_VOID(co_await server->close());
    co_return ended;
}

}  // namespace porthole::kubelet
