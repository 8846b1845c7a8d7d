#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cel/values/type.h"

namespace porthole::cel {

/// What type parameters stand for, found while types are compared. A comparison that fails leaves no trace.
class Unification {
public:
    TypeRef fresh();  ///< a new type parameter
    /// Whether a value of one type may be given for the other; dyn agrees with everything.
    bool is_assignable(const TypeRef& left, const TypeRef& right);
    bool are_assignable(const std::vector<TypeRef>& left, const std::vector<TypeRef>& right);
    /// With the parameters replaced that are known; the others become dyn where `to_dyn`.
    TypeRef substitute(const TypeRef& type, bool to_dyn) const;
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
    bool occurs(const Type& parameter, const Type& within) const;
    void set(const std::string& parameter, TypeRef type);

    std::map<std::string, TypeRef, std::less<>> bindings_;
    std::vector<std::pair<std::string, TypeRef>> journal_;  ///< what was there before, for undoing
    int next_ = 0;
};

}  // namespace porthole::cel
