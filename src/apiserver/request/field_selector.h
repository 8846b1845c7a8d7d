#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::apiserver {

/// Conditions on a kind's selectable fields, "spec.nodeName=a,status.phase!=Failed"; all must hold.
class FieldSelector {
public:
    struct Term {
        std::string field, value;
        bool equal = true;
    };

    /// "\" escapes ",", "=" and "\" in values. Error: BadRequest.
    static Result<FieldSelector> parse(std::string_view text);

    bool empty() const { return terms_.empty(); }
    const std::vector<Term>& terms() const { return terms_; }
    /// `value_of(field)` yields the field's text, "" where it is not set.
    template <class ValueOf>
    bool matches(ValueOf value_of) const {
        for (const Term& term : terms_)
            if ((std::string_view(value_of(term.field)) == term.value) != term.equal) return false;
        return true;
    }

private:
    std::vector<Term> terms_;
};

}  // namespace porthole::apiserver
