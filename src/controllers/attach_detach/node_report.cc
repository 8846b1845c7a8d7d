#include "controllers/attach_detach/node_report.h"

#include "schema/json/json.h"

namespace porthole::controllers {

using api::core::v1::Node;
using schema::Value;

Task<> NodeReport::write(std::string node) {
    while (busy_.contains(node)) CO_TRY_VOID(co_await busy_[node].wait());
    busy_[node];
    auto result = co_await write_now(node);
    busy_[node].wake_all({});
    busy_.erase(node);
    co_return result;
}

Task<> NodeReport::write_now(std::string name) {
    const auto node = nodes_.find({"", name});
    if (!node) co_return {};
    const Names names = attached_(name);
    Names shown;
    for (const auto& one : node->status.volumes_attached) shown.insert(one.name);
    const auto last = written_.find(name);
    if (shown == names && (last == written_.end() || last->second == names)) co_return {};
    Value list = Value::array();
    for (const std::string& volume : names) list.as_array().push_back(Value::object({{"name", volume}, {"devicePath", ""}}));
    Value patch;
    patch.ensure_path({"status", "volumesAttached"}) = std::move(list);
    const auto stored = co_await client_.patch<Node>({"", name}, client::PatchType::Merge, schema::to_json(patch), "status");
    if (!stored && !is_not_found(stored)) co_return stored.error();
    written_[name] = names;
    co_return {};
}

}  // namespace porthole::controllers
