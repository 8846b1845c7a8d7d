#include "apiserver/list_sizes.h"

#include <algorithm>
#include <cstdlib>

namespace porthole::apiserver {

std::size_t ListSizes::of(const RequestInfo& info) {
    const ResourcePtr resource = resources_.find(info.group, info.version, info.resource);
    if (!resource) return 0;
    const std::size_t all = count(resource->prefix_of(resource->kind->namespaced() ? info.namespace_ : ""));
    const bool selects = info.has_parameter("labelSelector") || info.has_parameter("fieldSelector");
    const long limit = std::strtol(std::string(info.parameter("limit")).c_str(), nullptr, 10);
    return selects || limit <= 0 ? all : std::min(all, static_cast<std::size_t>(limit));
}

std::size_t ListSizes::count(const std::string& prefix) {
    constexpr std::size_t MostPrefixes = 1024;
    constexpr auto Remembered = std::chrono::seconds(10);
    if (counts_.size() >= MostPrefixes && !counts_.contains(prefix)) counts_.clear();
    Count& found = counts_[prefix];
    if (found.until <= clock_.now()) found = {store_.count(prefix), clock_.now() + Remembered};
    return found.objects;
}

}  // namespace porthole::apiserver
