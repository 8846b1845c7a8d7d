#include "apiserver/resources/node_systems.h"

#include "api/core_v1.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/storage/keys.h"

namespace porthole::apiserver {
namespace {

constexpr Duration Freshness = std::chrono::seconds(1);
constexpr const char* SystemLabel = "kubernetes.io/os";

}  // namespace

windows::Systems NodeSystems::operator()() {
    const MonotonicTime now = clock_.now();
    if (read_at_ && now - *read_at_ < Freshness) return known_;
    read_at_ = now;
    return known_ = read();
}

windows::Systems NodeSystems::read() const {
    windows::Systems found;
    const auto nodes = store_.range({.prefix = kind_prefix(api::core::v1::Node::kind())});
    if (!nodes) return known_;
    for (const store::RecordPtr& record : nodes->records) {
        const auto system = attributes_of(*record).find_label(SystemLabel);
        if (!system) continue;
        found.linux |= *system == "linux";
        found.windows |= *system == "windows";
        if (found.linux && found.windows) break;
    }
    return found;
}

}  // namespace porthole::apiserver
