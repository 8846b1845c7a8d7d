#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "schema/print/cells.h"

namespace porthole::schema {
namespace {

// Nodes

Value node_status(const Cell& cell) {
    const Value& ready = find_condition(cell.object, "Ready");
    std::string status = "Unknown";
    if (!ready.is_null()) status = is_true(ready) ? "Ready" : "NotReady";
    if (at(at(cell.object, "spec"), "unschedulable").bool_or(false)) status += ",SchedulingDisabled";
    return status;
}

Value node_roles(const Cell& cell) {
    static constexpr std::string_view prefix = "node-role.kubernetes.io/";
    std::set<std::string> roles;
    const Value* labels = cell.object.at_path({"metadata", "labels"});
    if (labels && labels->is_object()) {
        for (const Member& label : labels->as_object()) {
            if (label.key.starts_with(prefix) && label.key.size() > prefix.size()) roles.insert(label.key.substr(prefix.size()));
            if (label.key == "kubernetes.io/role" && !text_of(label.value).empty()) roles.insert(text_of(label.value));
        }
    }
    return roles.empty() ? "<none>" : join(roles, ",");
}

Value node_address(const Value& node, std::string_view type) {
    for (const Value& address : items_of(at(at(node, "status"), "addresses"))) {
        if (address.string_at({"type"}) == type) return address.string_at({"address"});
    }
    return "<none>";
}
Value node_internal_ip(const Cell& cell) { return node_address(cell.object, "InternalIP"); }
Value node_external_ip(const Cell& cell) { return node_address(cell.object, "ExternalIP"); }

// Events, of core and of events.k8s.io: the newer group has the older one's fields as "deprecated…".

const Value& first_of(const Value& object, std::initializer_list<std::initializer_list<std::string_view>> paths) {
    for (const auto& path : paths) {
        const Value* found = object.at_path(path);
        if (found && !found->is_null()) return *found;
    }
    return null_value();
}

Value event_last_seen(const Cell& cell) {
    return age_of(first_of(cell.object, {{"series", "lastObservedTime"},
                                         {"lastTimestamp"},
                                         {"deprecatedLastTimestamp"},
                                         {"firstTimestamp"},
                                         {"deprecatedFirstTimestamp"},
                                         {"eventTime"}}),
                  cell.now);
}

Value event_first_seen(const Cell& cell) {
    return age_of(first_of(cell.object, {{"firstTimestamp"}, {"deprecatedFirstTimestamp"}, {"eventTime"}}), cell.now);
}

Value event_count(const Cell& cell) {
    const std::int64_t count = first_of(cell.object, {{"series", "count"}, {"count"}, {"deprecatedCount"}}).int_or(0);
    return std::to_string(std::max<std::int64_t>(count, 1));
}

Value event_object(const Cell& cell) {
    const Value& object = first_of(cell.object, {{"involvedObject"}, {"regarding"}});
    const std::string kind = to_lower(object.string_at({"kind"}));
    const std::string name(object.string_at({"name"}));
    return name.empty() ? kind : kind + "/" + name;
}

Value event_source(const Cell& cell) {
    const auto text = [&](std::initializer_list<std::initializer_list<std::string_view>> paths) {
        for (const auto& path : paths) {
            if (const std::string_view found = cell.object.string_at(path); !found.empty()) return std::string(found);
        }
        return std::string();
    };
    const std::string component =
        text({{"source", "component"}, {"deprecatedSource", "component"}, {"reportingComponent"}, {"reportingController"}});
    const std::string host = text({{"source", "host"}, {"deprecatedSource", "host"}, {"reportingInstance"}});
    return host.empty() ? component : component + ", " + host;
}

// Access

Value role_ref(const Cell& cell) {
    const Value& role = at(cell.object, "roleRef");
    return std::string(role.string_at({"kind"})) + "/" + std::string(role.string_at({"name"}));
}

/// The argument is the kind of subject.
Value subjects(const Cell& cell) {
    std::vector<std::string> names;
    for (const Value& subject : items_of(at(cell.object, "subjects"))) {
        if (subject.string_at({"kind"}) != cell.arguments[0]) continue;
        std::string name(subject.string_at({"name"}));
        if (cell.arguments[0] == "ServiceAccount") name = std::string(subject.string_at({"namespace"})) + "/" + name;
        names.push_back(std::move(name));
    }
    return join(names, ", ");
}

Value certificate_signing_request_condition(const Cell& cell) {
    // These conditions count by being there; older clients leave their status empty.
    const auto has = [&](std::string_view type) { return !find_condition(cell.object, type).is_null(); };
    std::string text = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
    if (has("Failed")) text += ",Failed";
    if (!cell.object.string_at({"status", "certificate"}).empty()) text += ",Issued";
    return text;
}

// Quotas

/// "cpu: 1/2, pods: 3/10", of limits or of all others.
std::string quota_text(const Value& quota, bool limits) {
    std::map<std::string, std::string> texts;
    const Value& used = at(at(quota, "status"), "used");
    const Value* hard = quota.at_path({"status", "hard"});
    if (!hard || !hard->is_object()) return "";
    for (const Member& resource : hard->as_object()) {
        if (resource.key.starts_with("limits.") != limits) continue;
        const Value* amount = used.find(resource.key);
        texts[resource.key] = resource.key + ": " + (amount ? text_of(*amount) : "0") + "/" + text_of(resource.value);
    }
    std::vector<std::string> ordered;
    for (auto& [name, text] : texts) ordered.push_back(std::move(text));
    return join(ordered, ", ");
}
Value resource_quota_request(const Cell& cell) { return quota_text(cell.object, false); }
Value resource_quota_limit(const Cell& cell) { return quota_text(cell.object, true); }

// Admission policies

Value param_kind(const Cell& cell) {
    const Value* kind = cell.object.at_path({"spec", "paramKind"});
    if (!kind || kind->is_null()) return "<unset>";
    return std::string(kind->string_at({"apiVersion"})) + "/" + std::string(kind->string_at({"kind"}));
}

Value param_ref(const Cell& cell) {
    const Value* reference = cell.object.at_path({"spec", "paramRef"});
    if (!reference || reference->is_null()) return "<unset>";
    const std::string name(reference->string_at({"name"})), space(reference->string_at({"namespace"}));
    if (!name.empty()) return (space.empty() ? "*" : space) + "/" + name;
    return reference->find("selector") ? format_label_selector(*reference->find("selector")) : "<unset>";
}

// Others

Value component_status_status(const Cell& cell) {
    for (const Value& condition : items_of(at(cell.object, "conditions"))) {
        if (condition.string_at({"type"}) != "Healthy") continue;
        const std::string_view status = condition.string_at({"status"});
        return status == "True" ? "Healthy" : status == "False" ? "Unhealthy" : "Unknown";
    }
    return "Unknown";
}
Value component_detail(const Cell& cell, std::string_view member) {
    for (const Value& condition : items_of(at(cell.object, "conditions"))) {
        if (condition.string_at({"type"}) == "Healthy") return condition.string_at({member});
    }
    return "";
}
Value component_message(const Cell& cell) { return component_detail(cell, "message"); }
Value component_error(const Cell& cell) { return component_detail(cell, "error"); }

Value flow_schema_missing_level(const Cell& cell) {
    const std::string_view status = find_condition(cell.object, "Dangling").string_at({"status"});
    return status.empty() ? "?" : status;
}

Value resource_claim_state(const Cell& cell) {
    const bool deleted = cell.object.at_path({"metadata", "deletionTimestamp"}) != nullptr;
    const Value* allocation = cell.object.at_path({"status", "allocation"});
    std::vector<std::string> states;
    if (deleted) states.emplace_back("deleted");
    if (!allocation && !deleted) states.emplace_back("pending");
    if (allocation) states.emplace_back("allocated");
    if (!items_of(at(at(cell.object, "status"), "reservedFor")).empty()) states.emplace_back("reserved");
    return join(states, ",");
}

Value storage_version_migration_resource(const Cell& cell) {
    std::string text(cell.object.string_at({"spec", "resource", "resource"}));
    if (const std::string_view group = cell.object.string_at({"spec", "resource", "group"}); !group.empty()) text.append(".").append(group);
    return text;
}

Value api_service_service(const Cell& cell) {
    const Value* service = cell.object.at_path({"spec", "service"});
    if (!service || service->is_null()) return "Local";
    return std::string(service->string_at({"namespace"})) + "/" + std::string(service->string_at({"name"}));
}

Value api_service_available(const Cell& cell) {
    const Value& available = find_condition(cell.object, "Available");
    if (available.is_null()) return "Unknown";
    std::string text(available.string_at({"status"}));
    if (text != "True") text.append(" (").append(available.string_at({"reason"})).append(")");
    return text;
}

constexpr CellFunction cluster_functions[] = {
    {"node_status", node_status},
    {"node_roles", node_roles},
    {"node_internal_ip", node_internal_ip},
    {"node_external_ip", node_external_ip},
    {"event_last_seen", event_last_seen},
    {"event_first_seen", event_first_seen},
    {"event_count", event_count},
    {"event_object", event_object},
    {"event_source", event_source},
    {"role_ref", role_ref},
    {"subjects", subjects},
    {"certificate_signing_request_condition", certificate_signing_request_condition},
    {"resource_quota_request", resource_quota_request},
    {"resource_quota_limit", resource_quota_limit},
    {"param_kind", param_kind},
    {"param_ref", param_ref},
    {"component_status_status", component_status_status},
    {"component_message", component_message},
    {"component_error", component_error},
    {"flow_schema_missing_pl", flow_schema_missing_level},
    {"resource_claim_state", resource_claim_state},
    {"storage_version_migration_resource", storage_version_migration_resource},
    {"api_service_service", api_service_service},
    {"api_service_available", api_service_available},
};

}  // namespace

const std::span<const CellFunction> cluster_cells = cluster_functions;

}  // namespace porthole::schema
