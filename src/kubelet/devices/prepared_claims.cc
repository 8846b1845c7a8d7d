#include "kubelet/devices/prepared_claims.h"

#include <algorithm>
#include <unordered_set>

#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

template <class Strings>
Value list_of(const Strings& strings) {
    Value list = Value::array();
    for (const std::string& one : strings) list.as_array().emplace_back(one);
    return list;
}

std::string text_at(const Value& object, std::string_view key) { return std::string(object.string_at({key})); }

std::vector<std::string> strings_at(const Value& object, std::string_view key) {
    std::vector<std::string> strings;
    const Value* list = object.is_object() ? object.as_object().find(key) : nullptr;
    if (!list || !list->is_array()) return strings;
    for (const Value& one : list->as_array())
        if (one.is_string()) strings.push_back(one.as_string());
    return strings;
}

}  // namespace

bool is_for(const PreparedDevice& device, const std::string& request) {
    if (request.empty() || device.requests.empty()) return true;
    // A container names a request, and gets the device of whichever of its alternatives was chosen.
    return std::ranges::any_of(device.requests,
                               [&](const std::string& name) { return name == request || name.substr(0, name.find('/')) == request; });
}

std::vector<std::string> PreparedClaim::cdi_ids(const std::string& request) const {
    std::vector<std::string> ids;
    std::unordered_set<std::string_view> seen;
    for (const auto& [driver, devices] : drivers)
        for (const PreparedDevice& device : devices) {
            if (!is_for(device, request)) continue;
            for (const std::string& id : device.cdi_ids)
                if (seen.insert(id).second) ids.push_back(id);
        }
    return ids;
}

std::unordered_map<std::string_view, const PreparedClaim*> claims_of(const PreparedClaims& claims, const std::string& namespace_) {
    std::unordered_map<std::string_view, const PreparedClaim*> found;
    for (const auto& [uid, claim] : claims)
        if (claim.namespace_ == namespace_) found.try_emplace(claim.name, &claim);
    return found;
}

std::string checkpoint_text(const PreparedClaims& claims) {
    Value list = Value::array();
    for (const auto& [uid, claim] : claims) {
        Value drivers = Value::object();
        for (const auto& [driver, devices] : claim.drivers) {
            Value shown = Value::array();
            for (const PreparedDevice& device : devices)
                shown.as_array().push_back(Value::object({{"pool", device.pool},
                                                          {"device", device.device},
                                                          {"requests", list_of(device.requests)},
                                                          {"cdiDeviceIDs", list_of(device.cdi_ids)}}));
            drivers[driver] = std::move(shown);
        }
        list.as_array().push_back(Value::object({{"namespace", claim.namespace_},
                                                 {"name", claim.name},
                                                 {"uid", uid},
                                                 {"pods", list_of(claim.pods)},
                                                 {"drivers", std::move(drivers)}}));
    }
    return schema::to_json(Value::object({{"version", "v1"}, {"claims", std::move(list)}}));
}

Result<PreparedClaims> parse_checkpoint(std::string_view text) {
    TRY(const Value value, schema::parse_json(text));
    const Value* list = value.is_object() ? value.as_object().find("claims") : nullptr;
    if (value.string_at({"version"}) != "v1" || !list || !list->is_array()) return Error(Reason::BadRequest, "not a checkpoint of claims");
    PreparedClaims claims;
    for (const Value& one : list->as_array()) {
        PreparedClaim claim{.namespace_ = text_at(one, "namespace"), .name = text_at(one, "name"), .uid = text_at(one, "uid")};
        if (claim.uid.empty()) return Error(Reason::BadRequest, "not a checkpoint of claims");
        for (std::string& pod : strings_at(one, "pods")) claim.pods.insert(std::move(pod));
        if (const Value* drivers = one.as_object().find("drivers"); drivers && drivers->is_object())
            for (const auto& [driver, devices] : drivers->as_object()) {
                auto& known = claim.drivers[driver];
                if (!devices.is_array()) continue;
                for (const Value& device : devices.as_array())
                    known.push_back({text_at(device, "pool"), text_at(device, "device"), strings_at(device, "requests"),
                                     strings_at(device, "cdiDeviceIDs")});
            }
        claims[claim.uid] = std::move(claim);
    }
    return claims;
}

}  // namespace porthole::kubelet
