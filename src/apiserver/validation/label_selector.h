#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta_v1.h"
#include "base/result.h"
#include "objects/requirement.h"

namespace porthole::apiserver {

using Labels = std::map<std::string, std::string>;

/// Conditions on labels, all of which must hold; without any, everything matches.
class LabelSelector {
public:
    using Operator = objects::Operator;
    struct Requirement {
        std::string key;
        Operator operation = Operator::Exists;
        std::vector<std::string> values;
        std::string_view sign{};  ///< "=", "==" or "!=", of In and NotIn; "" for what is written as a set
    };

    LabelSelector() = default;
    explicit LabelSelector(std::vector<Requirement> requirements) : requirements_(std::move(requirements)) {}
    /// The text form of queries: "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1". Error: BadRequest.
    static Result<LabelSelector> parse(std::string_view text);

    /// From the API's form, with matchLabels and matchExpressions. An invalid operator matches nothing.
    static LabelSelector from(const api::meta::v1::LabelSelector& selector);

    bool empty() const { return requirements_.empty(); }
    bool matches(const Labels& labels) const;
    /// The same for labels that are found by `find(key)`, which yields a pointer or null.
    template <class Find>
    bool matches_by(Find find) const {
        for (const Requirement& requirement : requirements_)
            if (!objects::holds(requirement.operation, requirement.values, find(requirement.key))) return false;
        return true;
    }
    const std::vector<Requirement>& requirements() const { return requirements_; }

private:
    std::vector<Requirement> requirements_;
};

/// The canonical text, as status.selector of a Scale carries it: sorted by key, and sets by value.
std::string to_string(const LabelSelector& selector);

}  // namespace porthole::apiserver
