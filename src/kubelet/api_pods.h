#pragma once
#include "client/informers/informer.h"
#include "kubelet/pod_manager.h"
#include "kubelet/static_pods.h"

namespace porthole::kubelet {

/// The pods that the API has on this node, as a source of the pod manager's. Mirror pods go to the static pods instead.
class ApiPods {
public:
    ApiPods(client::Informers& informers, const std::string& node_name, PodManager& pods, StaticPods& static_pods, StatusManager& statuses);

    /// Hands over the pods once their environment can name `services`. Ends when every source has been heard.
    Task<> run(client::Informer<core::Service>& services);

private:
    void take(const std::shared_ptr<const core::Pod>& pod);
    void drop(const std::shared_ptr<const core::Pod>& pod);

    client::Informer<core::Pod>& source_;
    PodManager& pods_;
    StaticPods& static_pods_;
    StatusManager& statuses_;
};

}  // namespace porthole::kubelet
