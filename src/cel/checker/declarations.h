#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/values/type.h"
#include "cel/values/value.h"

namespace porthole::cel {

/// The implementation of an overload. Arguments, the target of a member function first, have the declared kinds and are not errors. If it
/// takes time, or creates values, out of proportion to its arguments, it counts its own work.
class Implementation {
public:
    using Plain = Value (*)(std::span<const Value> arguments);
    using Counted = Value (*)(std::span<const Value> arguments, Work& work);

    constexpr Implementation(std::nullptr_t = nullptr) {}
    constexpr Implementation(Plain run) : plain_(run) {}
    constexpr Implementation(Counted run) : counted_(run) {}

    explicit operator bool() const { return plain_ || counted_; }
    /// Requires an implementation. The result is meaningless if the work is used up.
    Value operator()(std::span<const Value> arguments, Work& work) const;

private:
    Plain plain_ = nullptr;
    Counted counted_ = nullptr;
};

/// One signature of a function.
struct Overload {
    std::string id;        ///< "add_int64"
    std::string function;  ///< "_+_"
    bool is_member = false;
    std::vector<TypeRef> arguments;  ///< of a member function the target first
    TypeRef result;
    std::vector<std::string> type_parameters;
    Implementation run;  ///< none: the evaluator's own

    /// Whether values of these kinds match, for calls whose types are only known at run time.
    bool accepts(std::span<const Value> values) const;
};

/// The functions of an environment, by name.
class Functions {
public:
    /// A declaration as text: `contains_string = string.contains(string) -> bool`. A capital letter is a type parameter. Requires that the
    /// text is right: it is part of the program.
    void declare(std::string_view line, Implementation run);
    /// nullptr if there is none.
    const std::vector<const Overload*>* find(std::string_view function) const;

private:
    std::deque<Overload> overloads_;
    std::map<std::string, std::vector<const Overload*>, std::less<>> by_name_;
};

/// "map(string, list(int))", "net.IP", "A": a type as declarations write it. Requires that the text is right.
TypeRef parse_type(std::string_view text);

/// The declarations by which the checker resolves names.
struct Declarations {
    const Functions* functions = nullptr;
    std::map<std::string, TypeRef, std::less<>> variables;
    std::map<std::string, TypeRef, std::less<>> type_names;  ///< "int", "net.IP": the type of that name
    std::shared_ptr<const ObjectTypes> objects;
    std::string container;

    const ObjectType* find_object(std::string_view name) const { return objects ? objects->find(name) : nullptr; }
    /// The full names that `name` may have within the container, innermost first.
    std::vector<std::string> candidates(std::string_view name) const;
};

}  // namespace porthole::cel
