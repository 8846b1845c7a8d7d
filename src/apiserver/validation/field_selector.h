#pragma once
#include <functional>
#include <optional>
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
    std::vector<Term>& terms() { return terms_; }
    /// The value that every selected object has in `field`; nullopt if the selector leaves it open.
    std::optional<std::string> required_value(std::string_view field) const;
    /// `value_of(field)` yields the field's text, "" if it is not set.
    template <class ValueOf>
    bool matches(ValueOf value_of) const {
        for (const Term& term : terms_)
            if ((std::string_view(value_of(term.field)) == term.value) != term.equal) return false;
        return true;
    }

private:
    std::vector<Term> terms_;
};

/// FieldSelector::required_value of an unparsed selector: authorization and handlers both use this. A selector that cannot be parsed
/// requires nothing; no list or watch serves it.
std::optional<std::string> required_value(std::string_view selector, std::string_view field);
/// `value` escaped for a selector.
std::string escape_field_value(std::string_view value);

}  // namespace porthole::apiserver
