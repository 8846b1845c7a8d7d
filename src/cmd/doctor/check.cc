#include "cmd/doctor/check.h"

#include <charconv>
#include <map>
#include <string_view>

namespace porthole::cmd::doctor {

#define DOCTOR_CHECK(name) void check_##name(const Evidence& evidence, Findings& findings);
#include "cmd/doctor/checks.def"
#undef DOCTOR_CHECK

namespace {

/// "1.2.10" → {1, 2, 10}; what has no number comes after all that have.
std::vector<int> order_of(std::string_view number) {
    if (number.empty()) return {1000};
    std::vector<int> parts;
    for (const char* at = number.data(); at < number.data() + number.size(); ++at) {
        int part = 0;
        at = std::from_chars(at, number.data() + number.size(), part).ptr;
        parts.push_back(part);
    }
    return parts;
}

}  // namespace

std::span<const Check> checks() {
    static constexpr Check All[] = {
#define DOCTOR_CHECK(name) check_##name,
#include "cmd/doctor/checks.def"
#undef DOCTOR_CHECK
    };
    return All;
}

std::vector<Finding> examine(const Evidence& evidence) {
    Findings findings;
    for (const Check check : checks()) check(evidence, findings);
    // The order of checks decides among those without a number.
    std::map<std::pair<std::vector<int>, std::size_t>, Finding> sorted;
    for (const Finding& finding : findings.all()) sorted.emplace(std::pair(order_of(finding.item.number), sorted.size()), finding);
    std::vector<Finding> ordered;
    for (auto& [order, finding] : sorted) ordered.push_back(std::move(finding));
    return ordered;
}

}  // namespace porthole::cmd::doctor
