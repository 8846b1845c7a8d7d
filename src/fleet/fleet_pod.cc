#include "fleet/fleet_pod.h"

#include "base/result.h"
#include "client/json_slices.h"

namespace porthole::fleet {
namespace {

using client::json_plain_string;
using Members = std::vector<std::pair<std::string_view, std::string_view>>;

std::string_view member(const Members& members, std::string_view key) {
    for (const auto& [name, value] : members)
        if (name == key) return value;
    return {};
}

void append_member(std::string& object, std::string_view key, std::string_view value) {
    if (object.back() != '{') object += ',';
    object.append("\"").append(key).append("\":").append(value);
}

/// Without managedFields, which are half of an object.
std::string text_of(const Members& object, const Members& metadata) {
    std::string slim = "{", out = "{";
    for (const auto& [key, value] : metadata)
        if (key != "managedFields") append_member(slim, key, value);
    slim += '}';
    for (const auto& [key, value] : object) append_member(out, key, key == "metadata" ? slim : value);
    out += '}';
    out.shrink_to_fit();
    return out;
}

/// Owned by a Job and not restarted for ever.
Result<bool> completes(const Members& metadata, std::string_view spec) {
    const std::string_view owners = member(metadata, "ownerReferences");
    if (owners.empty()) return false;
    TRY(const std::string_view policy, client::json_member(spec, "restartPolicy"));
    if (json_plain_string(policy) == "Always") return false;
    TRY(const auto elements, client::json_elements(owners));
    for (const std::string_view owner : elements) {
        TRY(const std::string_view kind, client::json_member(owner, "kind"));
        if (json_plain_string(kind) == "Job") return true;
    }
    return false;
}

Result<bool> is_unready(std::string_view status) {
    TRY(const std::string_view conditions, client::json_member(status, "conditions"));
    if (conditions.empty()) return false;
    TRY(const auto elements, client::json_elements(conditions));
    for (const std::string_view condition : elements) {
        TRY(const std::string_view type, client::json_member(condition, "type"));
        if (json_plain_string(type) != "Ready") continue;
        TRY(const std::string_view value, client::json_member(condition, "status"));
        return json_plain_string(value) == "False";
    }
    return false;
}

Result<client::InformerCodec::Decoded> decode(std::string_view json, bool whole) {
    TRY(const Members object, client::json_members(json));
    TRY(const Members metadata, client::json_members(member(object, "metadata")));
    const auto plain = [&](std::string_view key) { return std::string(json_plain_string(member(metadata, key))); };
    auto pod = std::make_shared<FleetPod>();
    pod->key = {plain("namespace"), plain("name")};
    pod->uid = plain("uid");
    if (pod->key.name.empty() || pod->uid.empty()) return Error(Reason::BadRequest, "a pod without a name and a uid");
    pod->deleting = !json_plain_string(member(metadata, "deletionTimestamp")).empty();
    if (const std::string_view spec = member(object, "spec"); !spec.empty()) {
        TRY(const std::string_view node, client::json_member(spec, "nodeName"));
        pod->node = json_plain_string(node);
        TRY(pod->completes, completes(metadata, spec));
    }
    if (const std::string_view status = member(object, "status"); !status.empty()) {
        TRY(const std::string_view phase, client::json_member(status, "phase"));
        pod->phase = json_plain_string(phase);
        TRY(const std::string_view address, client::json_member(status, "podIP"));
        pod->address = json_plain_string(address);
        if (pod->phase == "Running") {
            TRY(pod->unready, is_unready(status));
        }
    }
    if (whole || pod->has_step()) pod->text = text_of(object, metadata);
    client::NamespacedName key = pod->key;
    return client::InformerCodec::Decoded{std::move(pod), std::move(key), plain("resourceVersion")};
}

}  // namespace

Result<client::InformerCodec::Decoded> decode_fleet_pod(std::string_view json) { return decode(json, false); }
Result<client::InformerCodec::Decoded> decode_whole_fleet_pod(std::string_view json) { return decode(json, true); }

}  // namespace porthole::fleet
