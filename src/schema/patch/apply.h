#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time/time.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// The writer, as recorded in metadata.managedFields.
struct FieldManager {
    std::string name;         ///< the query parameter fieldManager, otherwise the part of User-Agent before "/"; at most 128 characters
    std::string api_version;  ///< of the request, "apps/v1"
    std::string subresource;  ///< "status", "scale" or ""
    Timestamp now;
};

/// Objects of a kind in its other versions, if these differ in more than apiVersion.
class OtherVersions {
public:
    virtual ~OtherVersions() = default;
    struct Shown {
        const Kind& kind;
        const Value& object;  ///< lives as long as this
    };
    /// The object, which is of any version, in `api_version`; nullopt if the kind no longer has that version. Error: the conversion failed.
    virtual Result<std::optional<Shown>> show(const Value& object, std::string_view api_version) = 0;
};

/// Server-side apply (KEP-555): `live` (null if it is created) updated to `applied`. Fields that the manager applied before and now omits
/// are removed, and metadata.managedFields is updated. Defaults and admission come after.
///
/// Errors: Conflict with one FieldManagerConflict cause for each field that another manager owns with another value, unless `force`;
/// BadRequest for an invalid configuration (managedFields set, a list item without its key, a duplicate key); those of `versions`, which
/// converts the object to compare fields owned in other versions. Without it, such fields are compared by name.
Result<Value> server_side_apply(const Kind& kind, const Value& live, const Value& applied, const FieldManager& manager, bool force,
                                OtherVersions* versions = nullptr);

/// Brings `updated`'s metadata.managedFields up to date for any other write: what changed against `live` (null for a create)
/// belongs to the manager now. Called last, after defaults and admission, with `live` as it was stored. One empty entry in
/// `updated`'s record clears it. `versions` as for an apply; what it does not know is taken by names.
void track_update(const Kind& kind, const Value& live, Value& updated, const FieldManager& manager, OtherVersions* versions = nullptr);

}  // namespace porthole::schema
