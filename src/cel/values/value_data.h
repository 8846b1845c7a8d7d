#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cel/values/value.h"

// What values own, by kind. Only the sources of Value include this.

namespace porthole::cel {

struct TextData : Shared {
    explicit TextData(std::string content) : text(std::move(content)) {}
    std::string text;
};

/// What has values within it.
struct Composite : Shared {
    std::uint32_t depth = 1;

    void deepen(const Value& part) { depth = std::max(depth, part.depth() + 1); }
};

/// The items of a list that an expression made.
struct ListData : Composite {
    std::vector<Value> items;
    const Type* type = nullptr;  ///< of the object's list from which it was made by `+`
};

/// The entries of a map in order of insertion, with an index once it is worth it.
struct MapData : Composite {
    static constexpr std::size_t SmallSize = 8;

    const Value* find(const Value& key, Work& work) const;
    /// Replaces the value of a key that is there.
    void put(Value key, Value value, Work& work);

    std::vector<Value::Entry> entries;
    std::optional<Value> missing;  ///< what reading an absent key yields; nothing: an error

private:
    ValueIndex index_;
};

/// The fields of an object that an expression made, in their order.
struct ObjectData : Composite {
    TypeRef type;
    std::vector<std::pair<std::string, Value>> fields;
};

/// A type as a value.
struct TypeData : Shared {
    explicit TypeData(TypeRef content) : type(std::move(content)) {}
    TypeRef type;
};

/// The content of an optional that has one.
struct OptionalData : Composite {
    explicit OptionalData(Value value) : content(std::move(value)) { deepen(content); }
    Value content;
};

}  // namespace porthole::cel
