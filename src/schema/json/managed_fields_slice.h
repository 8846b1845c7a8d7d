#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace porthole::schema {

/// Where the text of an API object has metadata.managedFields.
struct ManagedFieldsSlice {
    std::size_t begin, end;  ///< the member with the comma before or after it: the part to cut out
    std::string_view value;  ///< its list
    bool is_last;            ///< of metadata's members
};

/// nullopt if there are none. They are found only where metadata is the first member that is an object and no spaces are between, as
/// Kubernetes writes it.
std::optional<ManagedFieldsSlice> find_managed_fields(std::string_view object);

}  // namespace porthole::schema
