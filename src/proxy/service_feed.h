#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "client/informer.h"
#include "proxy/convert.h"

namespace porthole::proxy {

/// Keeps service tables in step with the API: one for each address family that the proxy serves.
///
/// Lives on the loop of the informers, which outlive it; the tables given to fill() must outlive the informers' tasks.
class ServiceFeed {
public:
    /// `changed` is called after every change that a table has to work through.
    ServiceFeed(client::Informers& informers, std::string node_name, std::function<void()> changed);
    ServiceFeed(const ServiceFeed&) = delete;

    /// What a platform cannot do, or does otherwise, is rewritten on the way into the table; empty functions change nothing.
    struct Adapt {
        std::function<void(ServiceInfo&)> service;
        std::function<void(NodeView&)> node;
    };
    void fill(ServiceTable& table, Family family, Adapt adapt = {});
    Task<> wait_for_sync();
    /// nullptr if there is no such service.
    std::shared_ptr<const api::core::v1::Service> service(const std::string& key) const;
    /// The proxy's own node as the API has it; nullptr if it is not there.
    std::shared_ptr<const api::core::v1::Node> node() const { return nodes_.find({"", node_name_}); }

private:
    client::Informer<api::core::v1::Service>& services_;
    client::Informer<api::discovery::v1::EndpointSlice>& slices_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::string node_name_;
    std::function<void()> changed_;
};

}  // namespace porthole::proxy
