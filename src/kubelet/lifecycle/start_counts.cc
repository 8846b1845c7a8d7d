#include "kubelet/lifecycle/start_counts.h"

#include "base/metrics_text.h"

namespace porthole::kubelet {
namespace {

std::string type_label(ContainerKind kind) {
    const char* const type = kind == ContainerKind::Init        ? "init_container"
                             : kind == ContainerKind::Ephemeral ? "ephemeral_container"
                                                                : "container";
    return metric_label("container_type", type);
}

}  // namespace

void StartCounts::add_start(ContainerKind kind, bool host_process) {
    ++starts_[type_label(kind)];
    if (host_process) ++host_process_starts_[type_label(kind)];
}

void StartCounts::add_failure(ContainerKind kind, bool host_process, const std::string& reason) {
    const std::string labels = metric_label("code", reason) + "," + type_label(kind);
    ++failures_[labels];
    if (host_process) ++host_process_failures_[labels];
}

void StartCounts::add_user_namespaced_pod(bool succeeded) {
    ++user_namespaced_[""];
    if (!succeeded) ++user_namespaced_failures_[""];
}

void StartCounts::append(std::string& out) const {
    const struct {
        const char *name, *help;
        const Counts& counts;
    } families[] = {
        {"kubelet_started_containers_total", "Starts of containers that were tried.", starts_},
        {"kubelet_started_containers_errors_total", "Starts of containers that failed.", failures_},
        {"kubelet_started_host_process_containers_total", "Starts of HostProcess containers that were tried.", host_process_starts_},
        {"kubelet_started_host_process_containers_errors_total", "Starts of HostProcess containers that failed.", host_process_failures_},
        {"kubelet_started_user_namespaced_pods_total", "Starts of pods with user namespaces that were tried.", user_namespaced_},
        {"kubelet_started_user_namespaced_pods_errors_total", "Starts of pods with user namespaces that failed.",
         user_namespaced_failures_},
    };
    for (const auto& [name, help, counts] : families) {
        if (counts.empty()) continue;
        const MetricFamily family(out, name, "counter", help);
        for (const auto& [labels, count] : counts) family.add(labels, count);
    }
}

}  // namespace porthole::kubelet
