#include "controllers/node_lifecycle/zones.h"

#include <algorithm>

namespace porthole::controllers {

namespace {

constexpr std::size_t DisruptedNodes = 3;
constexpr auto RetryDelay = std::chrono::seconds(1);

std::string label(const api::core::v1::Node& node, const char* name) {
    const auto found = node.metadata.labels.find(name);
    return found == node.metadata.labels.end() ? "" : found->second;
}

Duration interval(double rate) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate)); }

}  // namespace

std::string zone_of(const api::core::v1::Node& node) {
    return label(node, "topology.kubernetes.io/region") + "/" + label(node, "topology.kubernetes.io/zone");
}

ZoneState zone_state(const ZoneCount& count, double threshold) {
    if (count.ready == 0 && count.not_ready > 0) return ZoneState::FullDisruption;
    const bool many = count.not_ready >= DisruptedNodes;
    if (many && static_cast<double>(count.not_ready) / static_cast<double>(count.nodes()) >= threshold) return ZoneState::PartialDisruption;
    return ZoneState::Normal;
}

void EvictionQueue::set_rate(double rate, MonotonicTime now) {
    if (rate == rate_) return;
    // A wait that began under a slower rate ends no later than one at the new rate would.
    if (rate > 0) next_ = std::min(next_, now + interval(rate));
    rate_ = rate;
}

void EvictionQueue::put(std::int64_t place, const std::string& node) {
    nodes_.emplace(place, node);
    places_.emplace(node, place);
}

void EvictionQueue::add(const std::string& node) {
    if (!places_.contains(node)) put(nodes_.empty() ? 0 : nodes_.rbegin()->first + 1, node);
}

void EvictionQueue::remove(const std::string& node) {
    const auto found = places_.find(node);
    if (found == places_.end()) return;
    nodes_.erase(found->second);
    places_.erase(found);
}

void EvictionQueue::clear() {
    nodes_.clear();
    places_.clear();
}

std::optional<std::string> EvictionQueue::take(MonotonicTime now) {
    if (nodes_.empty() || rate_ <= 0 || now < next_) return std::nullopt;
    next_ = now + interval(rate_);
    std::string node = nodes_.begin()->second;
    remove(node);
    return node;
}

void EvictionQueue::put_back(const std::string& node, MonotonicTime now) {
    remove(node);  // added again meanwhile
    put(nodes_.empty() ? 0 : nodes_.begin()->first - 1, node);
    next_ = std::min<MonotonicTime>(next_, now + RetryDelay);
}

std::optional<Duration> EvictionQueue::wait(MonotonicTime now) const {
    if (nodes_.empty() || rate_ <= 0) return std::nullopt;
    return std::max(Duration::zero(), next_ - now);
}

}  // namespace porthole::controllers
