#pragma once
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cel/values/value.h"

namespace porthole::cel {

/// What values of a kind own. Only value.cc and its neighbors look inside.
struct TextData : Shared {
    explicit TextData(std::string content) : text(std::move(content)) {}
    std::string text;
};

/// The items of a list that an expression made.
struct ListData : Shared {
    std::vector<Value> items;
};

/// The entries of a map in order of insertion, with an index once it is worth it.
struct MapData : Shared {
    struct Hash {
        std::size_t operator()(const Value& value) const { return value.hash(); }
    };
    struct Equal {
        bool operator()(const Value& a, const Value& b) const { return a.equals(b); }
    };
    static constexpr std::size_t SmallSize = 8;

    const Value* find(const Value& key) const;
    /// Replaces the value of a key that is there.
    void put(Value key, Value value);

    std::vector<Value::Entry> entries;

private:
    std::unordered_map<Value, std::size_t, Hash, Equal> index_;
};

/// The fields of an object that an expression made, in their order.
struct ObjectData : Shared {
    TypeRef type;
    std::vector<std::pair<std::string, Value>> fields;
};

/// A type as a value.
struct TypeData : Shared {
    explicit TypeData(TypeRef content) : type(std::move(content)) {}
    TypeRef type;
};

/// The content of an optional that has one.
struct OptionalData : Shared {
    explicit OptionalData(Value value) : content(std::move(value)) {}
    Value content;
};

}  // namespace porthole::cel
