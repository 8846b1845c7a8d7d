#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>
#include "objects/requirement.h"

namespace porthole::scheduler {

using Labels = std::map<std::string, std::string>;

/// One requirement on a label: `key op values`. GreaterThan and LessThan compare whole numbers, as node selectors do.
struct Requirement {
    using Operator = objects::Operator;
    std::string key;
    Operator op = Operator::In;
    std::vector<std::string> values;

    bool matches(const Labels& labels) const;
    bool operator==(const Requirement&) const = default;
};

/// A conjunction of requirements. Empty matches everything; an absent label selector is `nothing()`.
class Selector {
public:
    Selector() = default;
    explicit Selector(std::vector<Requirement> requirements) : requirements_(std::move(requirements)) {}
    static Selector nothing();
    /// `key=value` for each pair.
    static Selector of(const Labels& labels);

    void add(Requirement requirement) { requirements_.push_back(std::move(requirement)); }
    bool matches(const Labels& labels) const;
    bool matches_nothing() const { return nothing_; }
    bool matches_everything() const { return !nothing_ && requirements_.empty(); }
    bool operator==(const Selector&) const = default;

private:
    std::vector<Requirement> requirements_;
    bool nothing_ = false;
};

/// One alternative of a node selector: labels and the node's name (`matchFields`). Empty matches no node.
struct NodeSelectorTerm {
    std::vector<Requirement> labels, fields;
    bool matches(const Labels& node_labels, const std::string& node_name) const;
    bool operator==(const NodeSelectorTerm&) const = default;
};

/// A label selector over pods of some namespaces, within a topology: one term of pod (anti-)affinity.
struct AffinityTerm {
    Selector selector;
    std::set<std::string> namespaces;                   ///< by name
    Selector namespace_selector = Selector::nothing();  ///< or by the namespace's labels
    std::string topology_key;
    std::int32_t weight = 0;  ///< of a preferred term; negative for anti-affinity
};

}  // namespace porthole::scheduler
