#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "base/log.h"
#include "client/informers/informer.h"
#include "proxy/service_table.h"

namespace porthole::proxy {

enum class Family : std::uint8_t { V4, V6 };

/// Logs which services the table serves in part, unless `told` contains them already.
void tell_of_cut_services(const ServiceTable& table, std::set<std::string>& told, const Logger& log);

/// The part of a Service that is of one family; nullopt if it is not proxied: headless, ExternalName, or handled by another proxy.
std::optional<ServiceInfo> service_info(const api::core::v1::Service& service, Family family = Family::V4);
/// Nullopt for a slice without a service.
std::optional<SliceInfo> slice_info(const api::discovery::v1::EndpointSlice& slice, Family family = Family::V4);
NodeView node_view(const api::core::v1::Node& node, Family family = Family::V4);

/// Keeps service tables up to date with the API: one for each address family that the proxy serves.
///
/// Lives on the loop of the informers, which outlive it; the tables given to fill() must outlive the informers' tasks.
class ServiceFeed {
public:
    /// `changed` is called after every change that a table has to work through.
    ServiceFeed(client::Informers& informers, std::string node_name, std::function<void()> changed);
    ServiceFeed(const ServiceFeed&) = delete;

    /// Functions that change objects for a platform that does not support something, or does it differently, before they enter the table;
    /// empty ones change nothing.
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
