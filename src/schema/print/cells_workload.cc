#include <algorithm>

#include "base/strings.h"
#include "base/values/quantity.h"
#include "schema/print/cells.h"

namespace porthole::schema {
namespace {

std::string join_members(const Value& list, std::string_view member) {
    std::vector<std::string> texts;
    for (const Value& item : items_of(list)) texts.emplace_back(item.string_at({member}));
    return join(texts, ",");
}

/// The argument is a pod template.
Value container_names(const Cell& cell) { return join_members(at(at(cell.argument(), "spec"), "containers"), "name"); }
Value container_images(const Cell& cell) { return join_members(at(at(cell.argument(), "spec"), "containers"), "image"); }

Value ready_replicas(const Cell& cell) {
    const std::int64_t ready = at(at(cell.object, "status"), "readyReplicas").int_or(0);
    const std::int64_t wanted = at(at(cell.object, "spec"), "replicas").int_or(0);
    return std::to_string(ready) + "/" + std::to_string(wanted);
}

Value job_status(const Cell& cell) {
    const auto has = [&](std::string_view type) { return is_true(find_condition(cell.object, type)); };
    if (has("Complete")) return "Complete";
    if (has("Failed")) return "Failed";
    if (cell.object.at_path({"metadata", "deletionTimestamp"})) return "Terminating";
    if (has("Suspended")) return "Suspended";
    return has("FailureTarget") ? "FailureTarget" : "Running";
}

Value job_completions(const Cell& cell) {
    const Value& spec = at(cell.object, "spec");
    const std::string succeeded = std::to_string(at(at(cell.object, "status"), "succeeded").int_or(0));
    const Value& completions = at(spec, "completions");
    if (completions.is_int()) return succeeded + "/" + std::to_string(completions.as_int());
    const std::int64_t parallelism = at(spec, "parallelism").int_or(0);
    return parallelism > 1 ? succeeded + "/1 of " + std::to_string(parallelism) : succeeded + "/1";
}

Value job_duration(const Cell& cell) {
    const auto start = Timestamp::parse(cell.object.string_at({"status", "startTime"}));
    if (!start) return "";
    const auto end = Timestamp::parse(cell.object.string_at({"status", "completionTime"}));
    return format_age((end ? *end : cell.now) - *start);
}

Value controller_revision_controller(const Cell& cell) {
    for (const Value& owner : items_of(at(at(cell.object, "metadata"), "ownerReferences"))) {
        if (!at(owner, "controller").bool_or(false)) continue;
        std::string text = to_lower(owner.string_at({"kind"}));
        const std::string_view version = owner.string_at({"apiVersion"});
        if (const std::size_t slash = version.find('/'); slash != version.npos) text.append(".").append(version.substr(0, slash));
        return text.append("/").append(owner.string_at({"name"}));
    }
    return "<none>";
}

Value scale_target(const Cell& cell) {
    const Value& target = at(at(cell.object, "spec"), "scaleTargetRef");
    return std::string(target.string_at({"kind"})) + "/" + std::string(target.string_at({"name"}));
}

// Horizontal pod autoscaler: one text for each metric of the spec, the status' metric of the same place beside it.

std::string quantity_or_unknown(const Value* quantity) { return quantity ? text_of(*quantity) : "<unknown>"; }

/// "cpu: 30%/80%", of a resource's source and status.
std::string resource_target(const Value& source, const Value& current) {
    const std::string name = std::string(source.string_at({"name"})) + ": ";
    if (const Value* average = source.at_path({"target", "averageValue"})) {
        return name + quantity_or_unknown(current.at_path({"current", "averageValue"})) + "/" + text_of(*average);
    }
    const Value* used = current.at_path({"current", "averageUtilization"});
    const Value* wanted = source.at_path({"target", "averageUtilization"});
    return name + (used ? text_of(*used) + "%" : "<unknown>") + "/" + (wanted ? text_of(*wanted) + "%" : "<auto>");
}

/// "5/10", or "5/10 (avg)" for an average, of an object's or external source and status.
std::string value_target(const Value& source, const Value& current) {
    if (const Value* average = source.at_path({"target", "averageValue"})) {
        return quantity_or_unknown(current.at_path({"current", "averageValue"})) + "/" + text_of(*average) + " (avg)";
    }
    return quantity_or_unknown(current.at_path({"current", "value"})) + "/" + text_of(at(at(source, "target"), "value"));
}

std::string metric_text(const Value& metric, const Value& status) {
    const std::string_view type = metric.string_at({"type"});
    if (type == "Resource") return resource_target(at(metric, "resource"), at(status, "resource"));
    if (type == "ContainerResource") return resource_target(at(metric, "containerResource"), at(status, "containerResource"));
    if (type == "Object") return value_target(at(metric, "object"), at(status, "object"));
    if (type == "External") return value_target(at(metric, "external"), at(status, "external"));
    if (type != "Pods") return "<unknown type>";
    return quantity_or_unknown(status.at_path({"pods", "current", "averageValue"})) + "/" +
           text_of(at(at(at(metric, "pods"), "target"), "averageValue"));
}

/// autoscaling/v1 knows processor time alone.
Value processor_target(const Cell& cell) {
    const Value* wanted = cell.object.at_path({"spec", "targetCPUUtilizationPercentage"});
    const Value* used = cell.object.at_path({"status", "currentCPUUtilizationPercentage"});
    if (!wanted) return "<none>";
    return "cpu: " + (used ? text_of(*used) + "%" : "<unknown>") + "/" + text_of(*wanted) + "%";
}

Value horizontal_pod_autoscaler_targets(const Cell& cell) {
    const Value* metrics = cell.object.at_path({"spec", "metrics"});
    if (!metrics || items_of(*metrics).empty()) return processor_target(cell);
    const Array& current = items_of(at(at(cell.object, "status"), "currentMetrics"));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < items_of(*metrics).size(); ++i) {
        texts.push_back(metric_text(items_of(*metrics)[i], i < current.size() ? current[i] : null_value()));
    }
    if (texts.size() <= 2) return join(texts, ", ");
    return texts[0] + ", " + texts[1] + " + " + std::to_string(texts.size() - 2) + " more...";
}

/// The argument is the name of a resource.
Value usage_of_containers(const Cell& cell) {
    Quantity sum;
    for (const Value& container : items_of(at(cell.object, "containers")))
        if (const auto used = Quantity::parse(container.string_at({"usage", cell.arguments[0]}))) sum += *used;
    return sum.to_string();
}

constexpr CellFunction workload_functions[] = {
    {"container_names", container_names},
    {"container_images", container_images},
    {"ready_replicas", ready_replicas},
    {"job_status", job_status},
    {"job_completions", job_completions},
    {"job_duration", job_duration},
    {"controller_revision_controller", controller_revision_controller},
    {"scale_target", scale_target},
    {"horizontal_pod_autoscaler_targets", horizontal_pod_autoscaler_targets},
    {"usage_of_containers", usage_of_containers},
};

}  // namespace

const std::span<const CellFunction> workload_cells = workload_functions;

}  // namespace porthole::schema
