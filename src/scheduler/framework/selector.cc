#include "scheduler/framework/selector.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace porthole::scheduler {

namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

bool compares(const std::string& value, const std::vector<std::string>& bounds, bool greater) {
    if (bounds.size() != 1) return false;
    const auto left = whole_number(value), right = whole_number(bounds.front());
    return left && right && (greater ? *left > *right : *left < *right);
}

bool all_match(const std::vector<Requirement>& requirements, const Labels& labels) {
    return std::ranges::all_of(requirements, [&](const Requirement& one) { return one.matches(labels); });
}

}  // namespace

bool Requirement::matches(const Labels& labels) const {
    const auto found = labels.find(key);
    const bool present = found != labels.end();
    switch (op) {
        case Operator::In:
            return present && std::ranges::find(values, found->second) != values.end();
        case Operator::NotIn:
            return !present || std::ranges::find(values, found->second) == values.end();
        case Operator::Exists:
            return present;
        case Operator::DoesNotExist:
            return !present;
        case Operator::GreaterThan:
            return present && compares(found->second, values, true);
        case Operator::LessThan:
            return present && compares(found->second, values, false);
    }
    return false;
}

Selector Selector::nothing() {
    Selector selector;
    selector.nothing_ = true;
    return selector;
}

Selector Selector::of(const Labels& labels) {
    Selector selector;
    for (const auto& [key, value] : labels) selector.add({key, Requirement::Operator::In, {value}});
    return selector;
}

bool Selector::matches(const Labels& labels) const { return !nothing_ && all_match(requirements_, labels); }

bool NodeSelectorTerm::matches(const Labels& node_labels, const std::string& node_name) const {
    if (labels.empty() && fields.empty()) return false;
    if (!fields.empty() && !all_match(fields, Labels{{"metadata.name", node_name}})) return false;
    return all_match(labels, node_labels);
}

}  // namespace porthole::scheduler
