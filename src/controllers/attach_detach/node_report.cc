#include "controllers/attach_detach/node_report.h"

#include "schema/json/json.h"

namespace porthole::controllers {

using api::core::v1::Node;
using schema::Value;

void NodeReport::set_attached(const std::string& node, const std::string& volume, bool attached) {
    Names& names = attached_[node];
    const bool changed = attached ? names.insert(volume).second : names.erase(volume) > 0;
    if (names.empty()) attached_.erase(node);
    if (const auto told = told_.find(node); changed && told != told_.end()) told->second.seen = nullptr;
}

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
    if (!node || told_[name].seen == node) co_return {};
    told_[name].seen = node;
    const auto attached = attached_.find(name);
    const Names names = attached == attached_.end() ? Names() : attached->second;
    Names shown;
    for (const auto& one : node->status.volumes_attached) shown.insert(one.name);
    if (shown == names && told_[name].names.value_or(names) == names) co_return {};
    Value list = Value::array();
    for (const std::string& volume : names) list.as_array().push_back(Value::object({{"name", volume}, {"devicePath", ""}}));
    Value patch;
    patch.ensure_path({"status", "volumesAttached"}) = std::move(list);
    const auto stored = co_await client_.patch<Node>({"", name}, client::PatchType::Merge, schema::to_json(patch), "status");
    if (!stored && !is_not_found(stored)) {
        told_[name].seen = nullptr;
        co_return stored.error();
    }
    told_[name].names = names;
    co_return {};
}

}  // namespace porthole::controllers
