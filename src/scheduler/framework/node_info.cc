#include "scheduler/framework/node_info.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::scheduler {

std::string NodeSpec::zone() const {
    const auto label = [&](const char* key, const char* legacy) -> const std::string& {
        static const std::string none;
        auto found = labels.find(key);
        if (found == labels.end()) found = labels.find(legacy);
        return found == labels.end() ? none : found->second;
    };
    const std::string& region = label("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region");
    const std::string& zone = label("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone");
    return region.empty() && zone.empty() ? "" : region + "/" + zone;
}

void NodeInfo::set_spec(NodeSpec spec) {
    spec_ = std::move(spec);
    exists_ = true;
    has_prefer_no_schedule_ =
        std::ranges::any_of(spec_.taints, [](const Taint& taint) { return taint.effect == TaintEffect::PreferNoSchedule; });
}

void NodeInfo::clear_spec() {
    spec_ = NodeSpec{.name = spec_.name};
    exists_ = has_prefer_no_schedule_ = false;
}

void NodeInfo::add(PodRef pod, PodClass* pod_class) {
    account(*pod, true);
    const auto count = std::ranges::find(class_counts_, pod_class, &ClassCount::pod_class);
    if (count == class_counts_.end()) {
        class_counts_.push_back({pod_class, 1});
    } else {
        ++count->count;
    }
    pods_.push_back({std::move(pod), pod_class});
}

void NodeInfo::remove(const std::string& uid) {
    const auto found = std::ranges::find_if(pods_, [&](const Entry& entry) { return entry.pod->uid == uid; });
    CHECK(found != pods_.end());
    account(*found->pod, false);
    const auto count = std::ranges::find(class_counts_, found->pod_class, &ClassCount::pod_class);
    if (--count->count == 0) {
        *count = class_counts_.back();
        class_counts_.pop_back();
    }
    *found = std::move(pods_.back());
    pods_.pop_back();
}

void NodeInfo::account(const PodInfo& pod, bool adding) {
    const std::int64_t sign = adding ? 1 : -1;
    if (adding) {
        requested_ += pod.requests;
    } else {
        requested_ -= pod.requests;
    }
    scored_milli_cpu_ += sign * pod.scored_milli_cpu;
    scored_memory_ += sign * pod.scored_memory;
    for (const HostPort& port : pod.host_ports) {
        if (adding) {
            used_ports_.add(port);
        } else {
            used_ports_.remove(port);
        }
    }
}

}  // namespace porthole::scheduler
