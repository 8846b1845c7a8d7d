#pragma once
#include "controllers/framework/context.h"
#include "controllers/node_lifecycle/taints.h"

namespace porthole::controllers {

/// Keeps nodes' NoSchedule taints and derived labels in step with what they report.
class NodeLifecycleController final : public client::Controller {
public:
    explicit NodeLifecycleController(Context& context);

private:
    using Node = api::core::v1::Node;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    /// Conflict when the node has changed since it was read.
    Task<> write_taints(const Node& node, Taints taints);
    Task<> write_labels(const Node& node);

    client::Client& client_;
    client::EventRecorder& events_;
    client::Informer<Node>& nodes_;
};

}  // namespace porthole::controllers
