#include "controllers/node_lifecycle/node_lifecycle.h"

#include "schema/convert.h"
#include "schema/json.h"
#include "schema/value.h"

namespace porthole::controllers {

using schema::Value;

namespace {

/// Labels that old clients look at, and where they come from.
struct LabelCopy {
    const char *from, *to;
};
constexpr LabelCopy LabelCopies[] = {{"kubernetes.io/os", "beta.kubernetes.io/os"}, {"kubernetes.io/arch", "beta.kubernetes.io/arch"}};

/// A merge patch that fails when the object is no longer as it was read.
std::string guarded_patch(const api::meta::v1::ObjectMeta& read, Value change) {
    change.ensure_path({"metadata", "resourceVersion"}) = read.resource_version;
    return schema::to_json(change);
}

}  // namespace

NodeLifecycleController::NodeLifecycleController(Context& context)
    : Controller(context.loop, context.log, {.name = "node-lifecycle"}),
      client_(context.client),
      events_(context.events.get("node-controller")),
      nodes_(context.informers.get<Node>()) {
    const auto tell = [this](const Node& node, const char* reason, const char* before, const char* after) {
        events_.normal(node, reason, "Node " + node.metadata.name + " event: " + before + node.metadata.name + after);
    };
    nodes_.subscribe({.added = [tell](const auto& node) { tell(*node, "RegisteredNode", "Registered Node ", " in Controller"); },
                      .updated = nullptr,
                      .deleted = [tell](const auto& node) { tell(*node, "RemovingNode", "Removing Node ", " from Controller"); }});
    reconcile_each(nodes_);
}

Task<client::Requeue> NodeLifecycleController::reconcile(client::NamespacedName key) {
    const auto node = nodes_.find(key);
    if (!node) co_return client::Requeue::never();
    Taints taints = no_schedule_taints(*node, loop().wall_now());
    // What is written comes back as a change: the labels' turn is then.
    if (taints != node->spec.taints) {
        CO_CHECK(co_await write_taints(*node, std::move(taints)));
    } else {
        CO_CHECK(co_await write_labels(*node));
    }
    co_return client::Requeue::never();
}

Task<> NodeLifecycleController::write_taints(const Node& node, Taints taints) {
    Value list = Value::array();
    for (const auto& taint : taints) list.as_array().push_back(schema::to_value(taint));
    Value change = Value::object();
    change.ensure_path({"spec", "taints"}) = std::move(list);
    CO_CHECK(co_await client_.patch<Node>(client::key_of(node), client::PatchType::Merge, guarded_patch(node.metadata, std::move(change))));
    co_return {};
}

Task<> NodeLifecycleController::write_labels(const Node& node) {
    Value change = Value::object();
    for (const LabelCopy& copy : LabelCopies) {
        const auto& labels = node.metadata.labels;
        const auto from = labels.find(copy.from), to = labels.find(copy.to);
        if (from == labels.end() || (to != labels.end() && to->second == from->second)) continue;
        change.ensure_path({"metadata", "labels", copy.to}) = from->second;
    }
    if (change.as_object().empty()) co_return {};
    CO_CHECK(co_await client_.patch<Node>(client::key_of(node), client::PatchType::Merge, guarded_patch(node.metadata, std::move(change))));
    co_return {};
}

}  // namespace porthole::controllers
