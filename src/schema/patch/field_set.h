#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// A set of paths in an object, in the form of FieldsV1. A step is "f:name" (a member), `k:{"name":"x"}` (an item of a list by its keys),
/// `v:"x"` (an item of a set) or "i:0".
///
/// Example: {"f:spec":{"f:replicas":{}},"f:labels":{".":{},"f:a":{}}} contains .spec.replicas, .labels and .labels.a.
class FieldSet {
public:
    bool empty() const { return !member_ && children_.empty(); }
    /// Whether the path of this (sub)set's root is itself in the set.
    bool is_member() const { return member_; }
    const std::map<std::string, FieldSet>& children() const { return children_; }
    const FieldSet* find(std::string_view step) const;

    void insert() { member_ = true; }
    /// The subset below `step`, created if missing; trim() drops those that stay empty.
    FieldSet& below(const std::string& step) { return children_[step]; }
    /// Drops empty branches.
    void trim();

    void add(FieldSet other);                        ///< union
    void remove(const FieldSet& other);              ///< difference, path by path
    void remove_recursively(const FieldSet& other);  ///< and everything below the other's paths
    void keep_common(const FieldSet& other);         ///< intersection

    /// Visits every path as its steps, in order.
    void visit(const std::function<void(const std::vector<std::string>& steps)>& visitor) const;

    Value to_value() const;
    /// to_value() as JSON.
    void append_json(std::string& out) const;
    /// Error: BadRequest.
    static Result<FieldSet> from_value(const Value& fields);
    bool operator==(const FieldSet& other) const = default;

private:
    static Result<FieldSet> subset_from_value(const Value& fields);
    Value to_value(bool with_self) const;
    void append_json(std::string& out, bool with_self) const;
    /// Calls `visit` for every child that the other has as well, and drops children that are then empty.
    template <class Visit>
    void visit_common(const FieldSet& other, Visit visit);

    bool member_ = false;
    std::map<std::string, FieldSet> children_;  // ordered as FieldsV1 is written
};

/// `.spec.containers[name="x"].image`, as in conflicts.
std::string format_field_path(const std::vector<std::string>& steps);

}  // namespace porthole::schema
