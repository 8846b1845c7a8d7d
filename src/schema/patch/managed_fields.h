#pragma once
#include <map>
#include <string>
#include <tuple>

#include "base/result.h"
#include "base/time/time.h"
#include "schema/patch/field_set.h"

namespace porthole::schema {

/// The owners of fields: metadata.managedFields, decoded.
class ManagedFields {
public:
    /// Identifies an entry. An applier keeps its entry when it changes to another version.
    struct Manager {
        std::string name, operation, api_version, subresource;
        auto operator<=>(const Manager&) const = default;
        static Manager applier(std::string name, std::string subresource) { return {std::move(name), "Apply", "", std::move(subresource)}; }
        bool applies() const { return operation == "Apply"; }
    };
    struct Entry {
        std::string api_version;
        Timestamp time;
        FieldSet fields;
    };
    using Entries = std::map<Manager, Entry>;

    /// `list` is metadata.managedFields, or null. Error: BadRequest.
    static Result<ManagedFields> decode(const Value& list);
    /// Ordered as Kubernetes does; null if there are none.
    Value encode() const;
    /// Whether the same managers own the same fields, at whatever times.
    bool same_but_for_time(const ManagedFields& other) const;

    bool empty() const { return entries_.empty(); }
    Entries& entries() { return entries_; }
    const Entries& entries() const { return entries_; }
    void drop_empty();
    /// Merges the oldest updates into one of "ancient-changes", so that at most `limit` remain.
    void cap_updates(std::size_t limit);

private:
    Entries entries_;
};

/// `"kubectl" using apps/v1`, as in conflicts.
std::string describe(const ManagedFields::Manager& manager);

}  // namespace porthole::schema
