#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cel/values/type.h"

namespace porthole::cel {

/// The types of type parameters, determined while types are compared. A comparison that fails has no effect.
///
/// Types are shared, and a parameter's type may contain parameters, so it may be exponentially large. Beyond LargestType, or after
/// MostSteps of all comparisons together, nothing matches anything, and is_exhausted() returns true.
class Unification {
public:
    static constexpr std::uint64_t LargestType = 1000, MostSteps = 3'000'000;

    std::uint64_t steps() const { return steps_; }
    bool is_exhausted() const { return steps_ > MostSteps; }
    TypeRef fresh();  ///< a new type parameter
    /// Whether a value of one type may be used for the other; dyn matches everything.
    bool is_assignable(const TypeRef& left, const TypeRef& right);
    bool are_assignable(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right);
    /// Replaces the known parameters; the others become dyn if `to_dyn`.
    TypeRef substitute(const TypeRef& type, bool to_dyn);
    /// Gives the parameters of a declaration new names.
    TypeRef instantiate(const TypeRef& type, const std::map<std::string, TypeRef>& fresh_names) const;
    const TypeRef& most_general(const TypeRef& left, const TypeRef& right);

private:
    template <class Compare>
    bool transaction(Compare compare);
    bool assign(const TypeRef& left, const TypeRef& right);
    bool assign_all(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right);
    /// Whether `type` is possible for the parameter, and whether the parameter had a type before.
    std::pair<bool, bool> bind(const TypeRef& type, const TypeRef& parameter);
    bool occurs(const Type& parameter, const Type& within);
    /// False once there have been too many.
    bool step(std::uint64_t count = 1) {
        steps_ += std::min(count, MostSteps + 1);
        return !is_exhausted();
    }
    void set(const std::string& parameter, TypeRef type);

    std::map<std::string, TypeRef, std::less<>> bindings_;
    std::vector<std::pair<std::string, TypeRef>> journal_;  ///< previous values, for undoing
    int next_ = 0;
    std::uint64_t steps_ = 0;
};

}  // namespace porthole::cel
