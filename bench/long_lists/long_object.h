#pragma once
#include <string>
#include <vector>

#include "schema/type.h"
#include "schema/value.h"

namespace porthole::long_lists {

/// A list or map of a kind: the fields that lead to it from the object; the last one is it.
using Place = std::vector<const schema::Field*>;

/// Every list and map of the type, nested ones too. A type that contains itself is entered once more, and the template of a pod only where
/// `templates` says so: it is the same in all workloads.
std::vector<Place> places(const schema::Type& type, bool templates);

/// "spec.template.spec.volumes[]"; "{}" for a map.
std::string text_of(const Place& place);

/// An object of which some lists are long; everything else is what its kind requires. Values are chosen by their types and by the names of
/// their fields, so that most objects are valid.
class LongObject {
public:
    LongObject(const schema::Kind& kind, std::string name);

    /// Makes a list or map as long as `count`, of different entries; `same`: alike but for the keys of a map.
    void add(const Place& place, std::size_t count, bool same = false);
    const schema::Value& tree() const { return tree_; }
    schema::Value& tree() { return tree_; }

private:
    schema::Value tree_;
    const schema::Kind& kind_;
};

}  // namespace porthole::long_lists
