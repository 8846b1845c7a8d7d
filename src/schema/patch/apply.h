#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time/time.h"
#include "schema/type.h"
#include "schema/value.h"

namespace porthole::schema {

/// Who writes, as metadata.managedFields is to show.
struct FieldManager {
    std::string name;         ///< the query parameter fieldManager, else what precedes "/" in User-Agent; at most 128 characters
    std::string api_version;  ///< of the request, "apps/v1"
    std::string subresource;  ///< "status", "scale" or ""
    Timestamp now;
};

/// What objects of a kind are in its other versions, where these differ in more than apiVersion.
class OtherVersions {
public:
    virtual ~OtherVersions() = default;
    struct Shown {
        const Kind& kind;
        const Value& object;  ///< lives as long as this
    };
    /// The object, which is of any version, in `api_version`; nullopt where the kind has no such version any more. Error: it is not known.
    virtual Result<std::optional<Shown>> show(const Value& object, std::string_view api_version) = 0;
};

/// Server-side apply (KEP-555): `live` (null when it is to be created) brought to what `applied` says, with what the manager
/// applied before and now leaves out removed, and metadata.managedFields brought up to date. Defaults and admission come after.
///
/// Errors: Conflict with one FieldManagerConflict cause for each field that another manager owns with another value, unless
/// `force`; BadRequest for an object that is not a valid configuration (managedFields set, a list item without its key, a key
/// twice); those of `versions`, by which owners of fields of other versions are asked in theirs. Without it they are taken by the same
/// names of fields.
Result<Value> server_side_apply(const Kind& kind, const Value& live, const Value& applied, const FieldManager& manager, bool force,
                                OtherVersions* versions = nullptr);

/// Brings `updated`'s metadata.managedFields up to date for any other write: what changed against `live` (null for a create)
/// belongs to the manager now. Called last, after defaults and admission, with `live` as it was stored. One empty entry in
/// `updated`'s record clears it. `versions` as for an apply; what it does not know is taken by names.
void track_update(const Kind& kind, const Value& live, Value& updated, const FieldManager& manager, OtherVersions* versions = nullptr);

}  // namespace porthole::schema
