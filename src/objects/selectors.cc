#include "objects/selectors.h"

#include <algorithm>

#include "base/strings.h"
#include "objects/requirement.h"

namespace porthole::objects {
namespace {

using api::meta::v1::LabelSelector;
using api::meta::v1::LabelSelectorRequirement;

bool holds(const LabelSelectorRequirement& requirement, const Labels& labels) {
    const std::optional<Operator> operation = parse_operator(requirement.operator_);
    if (!operation || *operation == Operator::GreaterThan || *operation == Operator::LessThan) return false;
    const auto found = labels.find(requirement.key);
    return objects::holds(*operation, requirement.values, found == labels.end() ? nullptr : &found->second);
}

}  // namespace

bool contains_all(const Labels& labels, const Labels& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& pair) {
        const auto found = labels.find(pair.first);
        return found != labels.end() && found->second == pair.second;
    });
}

bool matches(const LabelSelector& selector, const Labels& labels) {
    return contains_all(labels, selector.match_labels) &&
           std::ranges::all_of(selector.match_expressions, [&](const auto& requirement) { return holds(requirement, labels); });
}

bool matches(const schema::Box<LabelSelector>& selector, const Labels& labels) { return selector && matches(*selector, labels); }

bool selects_everything(const LabelSelector& selector) { return selector.match_labels.empty() && selector.match_expressions.empty(); }

std::string to_query(const LabelSelector& selector) {
    std::vector<std::string> terms;
    for (const auto& [key, value] : selector.match_labels) terms.push_back(key + "=" + value);
    for (const LabelSelectorRequirement& requirement : selector.match_expressions) {
        if (requirement.operator_ == "Exists")
            terms.push_back(requirement.key);
        else if (requirement.operator_ == "DoesNotExist")
            terms.push_back("!" + requirement.key);
        else
            terms.push_back(requirement.key + (requirement.operator_ == "In" ? " in (" : " notin (") + join(requirement.values, ",") + ")");
    }
    return join(terms, ",");
}

}  // namespace porthole::objects
