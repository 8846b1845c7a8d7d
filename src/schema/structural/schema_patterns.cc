#include "schema/structural/schema_patterns.h"

#include <algorithm>

namespace porthole::schema {
namespace {

/// Of a pattern that is refused, perhaps because its program was too large: nobody knows how long it took.
constexpr std::size_t CostOfRefusal = 10'000;

}  // namespace

Result<Regex> SchemaPatterns::compile(std::string_view pattern) {
    if (const auto known = known_.find(pattern); known != known_.end()) return known->second;
    if (left_ == 0) return Error(Reason::Invalid, "the patterns of the definition are too complex");
    auto made = Regex::compile(pattern);
    left_ -= std::min(left_, made ? made->size() : CostOfRefusal);
    if (made) known_.emplace(pattern, *made);
    return made;
}

}  // namespace porthole::schema
