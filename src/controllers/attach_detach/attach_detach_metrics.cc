#include "base/metrics_text.h"
#include "controllers/attach_detach/attach_detach.h"
#include "objects/csi_volume.h"

namespace porthole::controllers {
namespace {

std::string plugin_of(const std::string& volume) {
    const auto parsed = objects::parse_unique_volume_name(volume);
    return parsed ? "kubernetes.io/csi:" + parsed->driver : "N/A";
}

}  // namespace

/// Names and labels are upstream's; the last name does have its subsystem twice.
void AttachDetachController::append_metrics(std::string& out) const {
    std::map<std::pair<std::string, std::string>, std::size_t> in_use;  // by node and plugin
    std::set<std::string> wanted;
    for (const auto& pod : volumes_.pods_with_volumes()) {
        if (pod->spec.node_name.empty()) continue;
        for (const std::string& volume : volumes_.names_of(*pod)) {
            ++in_use[{pod->spec.node_name, plugin_of(volume)}];
            wanted.insert(volume);
        }
        for (const auto& volume : pod->spec.volumes)
            if (volume.csi) ++in_use[{pod->spec.node_name, "kubernetes.io/csi:" + volume.csi->driver}];
    }
    const MetricFamily uses(out, "storage_count_attachable_volumes_in_use", "gauge", "Measure number of volumes in use");
    for (const auto& [place, count] : in_use)
        uses.add(metric_label("node", place.first) + "," + metric_label("volume_plugin", place.second), count);

    std::map<std::pair<std::string, std::string>, std::size_t> totals;  // by plugin and state
    for (const std::string& volume : wanted)
        if (const auto found = volumes_.find_wanted(volume)) totals[{plugin_of(volume), "desired_state_of_world"}] += found->nodes.size();
    for (const auto& [name, volume] : volume_of_) {
        const AttachmentRef attachment = attachments_.find({"", name});
        if (attachment && attachment->status.attached) ++totals[{plugin_of(volume), "actual_state_of_world"}];
    }
    const MetricFamily all(out, "attachdetach_controller_total_volumes", "gauge", "Number of volumes in A/D Controller");
    for (const auto& [kind, count] : totals)
        all.add(metric_label("plugin_name", kind.first) + "," + metric_label("state", kind.second), count);

    const MetricFamily forced(out, "attach_detach_controller_attachdetach_controller_forced_detaches", "counter",
                              "Number of times the A/D Controller performed a forced detach");
    for (const auto& [reason, count] : forced_detaches_) forced.add(metric_label("reason", reason), count);
}

}  // namespace porthole::controllers
