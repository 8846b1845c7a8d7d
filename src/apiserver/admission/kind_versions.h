#pragma once
#include <vector>

#include "apiserver/validation/api_object.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// The versions in which a resource is served, for plugins that see objects as clients do. Used on the store's loop.
class KindVersions {
public:
    virtual ~KindVersions() = default;
    /// Every served kind whose objects are stored as `stored`, including itself, in a fixed order.
    virtual std::vector<const schema::Kind*> served(const schema::Kind& stored) const = 0;
    /// Converts between versions of one resource, possibly by a webhook. Requires: both are in served() of one kind. Errors: those of
    /// ObjectConverter::convert().
    virtual Task<ApiObject> convert(ApiObject object, const schema::Kind& to) const = 0;
    /// Sets defaults, as before a write. Does nothing for kinds that are not stored.
    virtual void set_defaults(ApiObject& object) const = 0;
};

}  // namespace porthole::apiserver
