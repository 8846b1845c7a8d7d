#include "scheduler/framework/selector.h"

#include <algorithm>

namespace porthole::scheduler {

namespace {

bool all_match(const std::vector<Requirement>& requirements, const Labels& labels) {
    return std::ranges::all_of(requirements, [&](const Requirement& one) { return one.matches(labels); });
}

}  // namespace

bool Requirement::matches(const Labels& labels) const {
    const auto found = labels.find(key);
    return objects::holds(op, values, found == labels.end() ? nullptr : &found->second);
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
