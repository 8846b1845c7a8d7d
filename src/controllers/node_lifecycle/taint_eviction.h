#pragma once
#include <map>

#include "controllers/framework/context.h"
#include "controllers/node_lifecycle/taints.h"

namespace porthole::controllers {

/// Deletes pods from nodes whose NoExecute taints they do not tolerate, or when their toleration has expired.
class TaintEvictionController final : public client::Controller {
public:
    static constexpr const char* Account = "node-controller";
    explicit TaintEvictionController(Context& context);

private:
    using Node = api::core::v1::Node;
    using Pod = api::core::v1::Pod;
    struct Pending {
        std::string uid;  ///< a new pod of the same name has its own time
        MonotonicTime since;
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    void look_at_pods_of(const Node& node);
    Taints no_execute_taints_of(const std::string& node) const;
    void cancel(const Pod& pod);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<Node>& nodes_;
    client::Informer<Pod>& pods_;
    PodIndex pods_by_node_;
    std::map<client::NamespacedName, Pending> pending_;
};

/// How long a pod may stay: zero when a taint is not tolerated, nullopt for ever. Of several tolerations of one taint the
/// first counts, of several taints the shortest time.
std::optional<Duration> tolerated_for(const Taints& taints, const std::vector<api::core::v1::Toleration>& tolerations);

}  // namespace porthole::controllers
