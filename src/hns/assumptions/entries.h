#pragma once
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::hns {

/// The entries of a list of assumptions, of any area, from YAML or JSON: {"assumptions": [...]}. Error: BadRequest.
Result<schema::Array> assumption_entries(std::string_view text);

/// What `parse` makes of the entries whose area `is_own`, in order. Errors: assumption_entries()'s and those of `parse`.
template <class T>
Result<std::vector<T>> parse_entries(std::string_view text, bool (*is_own)(std::string_view area),
                                     Result<T> (*parse)(const schema::Value&)) {
    TRY(const schema::Array entries, assumption_entries(text));
    std::vector<T> all;
    for (const schema::Value& one : entries) {
        if (!is_own(one.string_at({"area"}))) continue;
        TRY(T parsed, parse(one));
        all.push_back(std::move(parsed));
    }
    return all;
}

/// The list that this program carries, which the tests have parsed.
template <class T>
std::vector<T> bundled_entries(Result<std::vector<T>> parsed) {
    if (!parsed) std::abort();
    return *std::move(parsed);
}

}  // namespace porthole::hns
