#include "scheduler/node_verdicts.h"

#include <algorithm>

namespace porthole::scheduler {

namespace {

constexpr std::size_t PodsRemembered = 4;

}  // namespace

std::span<NodeVerdicts::Verdict> NodeVerdicts::of(const PodInfo& pod, std::size_t slot_count) {
    const auto known = std::ranges::find_if(remembered_, [&](const Remembered& one) { return alike_on_any_node(one.example, pod); });
    if (known != remembered_.end()) {
        remembered_.splice(remembered_.begin(), remembered_, known);
    } else if (remembered_.size() < PodsRemembered) {
        remembered_.push_front({pod, {}});
    } else {
        remembered_.splice(remembered_.begin(), remembered_, std::prev(remembered_.end()));
        remembered_.front().example = pod;
        remembered_.front().verdicts.clear();
    }
    std::vector<Verdict>& verdicts = remembered_.front().verdicts;
    verdicts.resize(slot_count);
    return verdicts;
}

}  // namespace porthole::scheduler
