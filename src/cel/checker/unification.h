#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cel/values/type.h"

namespace porthole::cel {

/// What type parameters stand for, found while types are compared. A comparison that fails leaves no trace.
///
/// A parameter may stand for a type that names other parameters twice each, and so on: the types of a short expression can be larger than
/// any memory. Once a type is too large to be looked at, or all comparisons together took too long, is_exhausted() holds; what is yielded
/// from then on is of no use.
class Unification {
public:
    static constexpr std::size_t LargestType = 2'000;      ///< types within one
    static constexpr std::size_t MostSteps = 2'000'000;  ///< of all calls together, a type looked at each

    bool is_exhausted() const { return is_exhausted_; }
    TypeRef fresh();  ///< a new type parameter
    /// Whether a value of one type may be given for the other; dyn agrees with everything.
    bool is_assignable(const TypeRef& left, const TypeRef& right);
    bool are_assignable(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right);
    /// With the parameters replaced that are known; the others become dyn where `to_dyn`.
    TypeRef substitute(const TypeRef& type, bool to_dyn);
    /// Gives the parameters of a declaration fresh names.
    TypeRef instantiate(const TypeRef& type, const std::map<std::string, TypeRef>& fresh_names) const;
    static const TypeRef& most_general(const TypeRef& left, const TypeRef& right);

private:
    template <class Compare>
    bool transaction(Compare compare);
    bool assign(const TypeRef& left, const TypeRef& right);
    bool assign_all(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right);
    /// Whether `type` can be what the parameter stands for, and whether the parameter stood for something before.
    std::pair<bool, bool> bind(const TypeRef& type, const TypeRef& parameter);
    bool occurs(const Type& parameter, const Type& within);
    TypeRef substitute_within(const TypeRef& type, bool to_dyn, std::size_t& left);
    /// Counts a step. False, and exhausted, when there were too many.
    bool step();
    void set(const std::string& parameter, TypeRef type);

    std::map<std::string, TypeRef, std::less<>> bindings_;
    std::vector<std::pair<std::string, TypeRef>> journal_;  ///< what was there before, for undoing
    int next_ = 0;
    std::size_t steps_ = 0;
    bool is_exhausted_ = false;
};

}  // namespace porthole::cel
