#include "provision/inventory.h"

#include "api/core_v1.h"
#include "schema/json/json.h"

namespace porthole::provision {
namespace {

using api::core::v1::ConfigMap;
using schema::Value;

Result<InventoryEntry> decode(const std::string& name, const std::string& text) {
    TRY(const Value value, schema::parse_json(text));
    TRY(MachineDescription machine, from_pool(schema::at(value, "pool")));
    if (machine.name != name) return Error(Reason::BadRequest, "it describes " + machine.name);
    return InventoryEntry{std::move(machine), schema::at(value, "cordoned").bool_or(false)};
}

std::string patch_of(const std::string& name, Value value) {
    Value data = Value::object();
    data[name] = std::move(value);
    return schema::to_json(Value::object({{"data", std::move(data)}}));
}

}  // namespace

Task<std::map<std::string, InventoryEntry>> Inventory::load() {
    std::map<std::string, InventoryEntry> entries;
    const auto found = co_await client_.get<ConfigMap>(key_);
    if (is_not_found(found)) co_return entries;
    CO_TRY(const ConfigMap& kept, found);
    for (const auto& [name, text] : kept.data) {
        auto entry = decode(name, text);
        if (!entry) co_return std::move(entry).error().with_context("ConfigMap " + key_.text() + ", " + name);
        entries.emplace(name, *std::move(entry));
    }
    co_return entries;
}

Task<> Inventory::put(InventoryEntry entry) {
    const Value value = Value::object({{"pool", to_pool(entry.machine)}, {"cordoned", entry.is_cordoned}});
    const std::string text = schema::to_json(value);
    // One entry is changed and no other, so that two runs do not undo each other's.
    const auto patch = [&] { return client_.patch<ConfigMap>(key_, client::PatchType::Merge, patch_of(entry.machine.name, text)); };
    auto patched = co_await patch();
    if (is_not_found(patched)) {
        ConfigMap first;
        first.metadata.namespace_ = key_.namespace_;
        first.metadata.name = key_.name;
        const auto created = co_await client_.create(std::move(first));
        if (!created && created.error().reason != Reason::AlreadyExists) co_return created.error();
        patched = co_await patch();
    }
    CO_TRY_VOID(std::move(patched));
    co_return {};
}

Task<> Inventory::erase(std::string name) {
    co_return ignore_not_found(co_await client_.patch<ConfigMap>(key_, client::PatchType::Merge, patch_of(name, Value())));
}

}  // namespace porthole::provision
