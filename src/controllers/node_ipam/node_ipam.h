#pragma once
#include <map>

#include "controllers/framework/context.h"
#include "controllers/node_ipam/cidr_pool.h"

namespace porthole::controllers {

/// Gives every node its ranges of pod addresses, one of each of the cluster's ranges.
class NodeIpamController final : public client::Controller {
public:
    /// Error: BadRequest when the settings' ranges cannot be used.
    static Result<std::unique_ptr<NodeIpamController>> create(Context& context);

private:
    NodeIpamController(Context& context, std::vector<CidrPool> pools);
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    /// What the node has is remembered as taken, also for a node that has just been seen.
    void learn(const api::core::v1::Node& node);
    void give_back(const std::string& node);
    Task<> assign(const api::core::v1::Node& node);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::vector<CidrPool> pools_;
    std::map<std::string, std::vector<IpPrefix>> held_;  ///< by node
};

}  // namespace porthole::controllers
