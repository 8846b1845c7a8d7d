#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/task.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// How objects of a kind are converted between the version that is stored and another one. Empty functions: only apiVersion differs.
struct Conversion {
    std::function<schema::Value(schema::Value)> to_stored, from_stored;
    /// Fields that selectors may use in this version, and their names in the stored one. Empty: the same.
    std::map<std::string, std::string> selectable_fields = {};
};

/// By served version and kind, "events.k8s.io/v1/Event".
using Conversions = std::map<std::string, Conversion>;

/// Converts objects of one custom resource between its versions if a webhook does that. Used on the store's loop.
class ObjectConverter {
public:
    virtual ~ObjectConverter() = default;
    /// The objects in `api_version`, in their order; of their metadata only labels and annotations may differ. Requires: at least one, none
    /// of that version. Errors: Unknown with upstream's message; TooManyRequests; Cancelled.
    virtual Task<std::vector<schema::Value>> convert(std::vector<schema::Value> objects, std::string api_version) = 0;
};

}  // namespace porthole::apiserver
