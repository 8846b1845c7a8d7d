#pragma once
#include "client/events.h"
#include "client/informers/informer.h"
#include "kubelet/container/environment.h"

namespace porthole::kubelet {

/// The objects of the API that a pod's containers depend on, in addition to volumes: pull secrets, its RuntimeClass, services.
class PodReferences {
public:
    PodReferences(client::Client& client, ObjectSource& objects, client::Informer<core::Service>& services, client::EventRecorder& events)
        : client_(client), objects_(objects), services_(services), events_(events) {}

    /// The secrets that exist; an event names the others. Fails only by cancellation.
    Task<std::vector<std::shared_ptr<const core::Secret>>> pull_secrets(std::shared_ptr<const core::Pod> pod);
    /// The runtime's name for the pod's RuntimeClass; "" for the default.
    Task<std::string> runtime_handler(std::shared_ptr<const core::Pod> pod);
    /// All variables of a container of the pod, with those that name the services of its namespace. Errors: make_environment()'s.
    Task<Environment> environment(const core::Pod& pod, const core::Container& container, DownwardContext context) const;

private:
    client::Client& client_;
    ObjectSource& objects_;
    client::Informer<core::Service>& services_;
    client::EventRecorder& events_;
};

}  // namespace porthole::kubelet
