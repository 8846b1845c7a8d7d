#include <algorithm>

#include "schema/print/cells.h"

#include "base/strings.h"

namespace porthole::schema {
namespace {

std::string format_access_modes(const Value& modes) {
    static constexpr std::pair<std::string_view, std::string_view> short_names[] = {
        {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
    std::vector<std::string> texts;
    for (const auto& [name, short_name] : short_names) {
        if (std::ranges::find(items_of(modes), Value(name)) != items_of(modes).end()) texts.emplace_back(short_name);
    }
    return join(texts, ",");
}

Value access_modes(const Cell& cell) { return format_access_modes(cell.argument()); }

Value volume_phase(const Cell& cell) {
    if (cell.object.at_path({"metadata", "deletionTimestamp"})) return "Terminating";
    return cell.object.string_at({"status", "phase"});
}

Value storage_class(const Cell& cell) {
    const Value* beta = cell.object.at_path({"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"});
    return beta ? beta->string_or("") : cell.object.string_at({"spec", "storageClassName"});
}

/// Of a volume: the claim it is bound to.
Value persistent_volume_claim(const Cell& cell) {
    const Value* claim = cell.object.at_path({"spec", "claimRef"});
    if (!claim || claim->is_null()) return "";
    return std::string(claim->string_at({"namespace"})) + "/" + std::string(claim->string_at({"name"}));
}

bool is_bound(const Value& claim) { return !claim.string_at({"spec", "volumeName"}).empty(); }

Value persistent_volume_claim_capacity(const Cell& cell) {
    return is_bound(cell.object) ? text_of(at(at(at(cell.object, "status"), "capacity"), "storage")) : "";
}

Value persistent_volume_claim_access_modes(const Cell& cell) {
    return is_bound(cell.object) ? format_access_modes(at(at(cell.object, "status"), "accessModes")) : "";
}

Value class_name(const Cell& cell) {
    std::string name(cell.object.string_at({"metadata", "name"}));
    const Value* annotations = cell.object.at_path({"metadata", "annotations"});
    if (!annotations) return name;
    for (const std::string_view key : {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
                                       "volumeattributesclass.alpha.kubernetes.io/is-default-class"}) {
        if (at(*annotations, key).string_or("") == "true") return name + " (default)";
    }
    return name;
}

Value csi_driver_token_requests(const Cell& cell) {
    const Value* requests = cell.object.at_path({"spec", "tokenRequests"});
    if (!requests || requests->is_null()) return "<unset>";
    std::vector<std::string> audiences;
    for (const Value& request : items_of(*requests)) audiences.emplace_back(request.string_at({"audience"}));
    return join(audiences, ",");
}

constexpr CellFunction storage_functions[] = {
    {"access_modes", access_modes},
    {"volume_phase", volume_phase},
    {"storage_class", storage_class},
    {"persistent_volume_claim", persistent_volume_claim},
    {"persistent_volume_claim_capacity", persistent_volume_claim_capacity},
    {"persistent_volume_claim_access_modes", persistent_volume_claim_access_modes},
    {"class_name", class_name},
    {"csi_driver_token_requests", csi_driver_token_requests},
};

}  // namespace

const std::span<const CellFunction> storage_cells = storage_functions;

}  // namespace porthole::schema
