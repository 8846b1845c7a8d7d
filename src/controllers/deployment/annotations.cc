#include "controllers/deployment/annotations.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace porthole::controllers::deployment {
namespace {

constexpr std::array<std::string_view, 6> NotCopied = {RevisionAnnotation,
                                                       HistoryAnnotation,
                                                       DesiredAnnotation,
                                                       MaxAnnotation,
                                                       "kubectl.kubernetes.io/last-applied-configuration",
                                                       "deprecated.deployment.rollback.to"};
constexpr std::size_t LongestHistory = 2000;

template <class Number>
std::optional<Number> number_annotation(const ReplicaSet& set, const char* key) {
    const auto found = set.metadata.annotations.find(key);
    if (found == set.metadata.annotations.end()) return std::nullopt;
    const std::string& text = found->second;
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool set_annotation(ReplicaSet& set, const std::string& key, const std::string& value) {
    std::string& present = set.metadata.annotations[key];
    if (present == value) return false;
    present = value;
    return true;
}

void append_history(ReplicaSet& set, const std::string& revision) {
    std::string& history = set.metadata.annotations[HistoryAnnotation];
    if (!history.empty()) history += ",";
    history += revision;
    while (history.size() > LongestHistory) {
        const std::size_t comma = history.find(',');
        if (comma == history.npos) break;
        history.erase(0, comma + 1);
    }
}

}  // namespace

std::int64_t revision(const ReplicaSet& set) { return number_annotation<std::int64_t>(set, RevisionAnnotation).value_or(0); }
std::optional<std::int32_t> desired_replicas_annotation(const ReplicaSet& set) {
    return number_annotation<std::int32_t>(set, DesiredAnnotation);
}
std::optional<std::int32_t> max_replicas_annotation(const ReplicaSet& set) { return number_annotation<std::int32_t>(set, MaxAnnotation); }

bool set_replicas_annotations(ReplicaSet& set, std::int32_t desired, std::int32_t max) {
    const bool desired_changed = set_annotation(set, DesiredAnnotation, std::to_string(desired));
    return set_annotation(set, MaxAnnotation, std::to_string(max)) || desired_changed;
}

bool set_revision_annotations(const Deployment& deployment, ReplicaSet& set, std::int64_t next) {
    bool changed = false;
    for (const auto& [key, value] : deployment.metadata.annotations)
        if (std::ranges::find(NotCopied, key) == NotCopied.end()) changed |= set_annotation(set, key, value);
    const std::int64_t before = revision(set);
    if (before >= next) return changed;
    set_annotation(set, RevisionAnnotation, std::to_string(next));
    if (before > 0) append_history(set, std::to_string(before));
    return true;
}

}  // namespace porthole::controllers::deployment
