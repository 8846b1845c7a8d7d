#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/apps_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers::daemon {

using api::apps::v1::DaemonSet;
using api::core::v1::Pod;
using PodPointer = std::shared_ptr<const Pod>;
using PodsByNode = std::map<std::string, std::vector<PodPointer>>;

/// The changes to make now.
struct Changes {
    std::vector<std::string> create_on;  ///< nodes
    std::vector<PodPointer> remove;
};

bool is_updated(const Pod& pod, const std::string& hash);
std::int32_t max_surge(const DaemonSet& set, std::int32_t desired);
/// At least one if there is no surge.
std::int32_t max_unavailable(const DaemonSet& set, std::int32_t desired);

/// The next step of a rolling update to the template named `hash`: what is not available is replaced freely, then as much as may be
/// unavailable; with surge a new pod is created first, and the old one removed when that is available or is itself unavailable.
Changes rolling_step(const DaemonSet& set, const PodsByNode& pods, const std::string& hash, std::int32_t desired, SystemTime now);

}  // namespace porthole::controllers::daemon
