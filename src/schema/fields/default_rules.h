#pragma once
#include <cstddef>
#include <string_view>

#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// Whether a member counts as not set, so that it gets the field's default; `value` is null where the object lacks it.
bool is_unset_value(const Field& field, const Value* value);

/// Ends defaulting when the defaults' text alone is larger than an object may be: what is left out is refused for its size.
class DefaultBudget {
public:
    /// Whether the text may still be added.
    bool take(std::string_view text) {
        const bool fits = text.size() <= left_;
        left_ = fits ? left_ - text.size() : 0;
        return fits;
    }

private:
    std::size_t left_ = 4 << 20;  ///< bytes
};

}  // namespace porthole::schema
