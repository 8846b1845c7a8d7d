#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "apiserver/request/request_info.h"
#include "base/result.h"
#include "schema/fields/fields.h"

/// The options of requests, read from queries and bodies.
namespace porthole::apiserver {

using schema::FieldValidation;

/// Of create, update and patch.
struct WriteOptions {
    bool dry_run = false;
    std::string field_manager;  ///< "" if not given
    FieldValidation field_validation = FieldValidation::Warn;
    bool force = false;  ///< of apply
};

/// Of get, list, watch and deletecollection.
struct ListOptions {
    std::string label_selector, field_selector;
    std::string resource_version;        ///< "" unset
    std::string resource_version_match;  ///< "", "Exact", "NotOlderThan"
    std::int64_t limit = 0;
    std::string continue_;
    bool watch = false;
    bool allow_watch_bookmarks = false;
    std::optional<bool> send_initial_events;
    std::optional<std::int64_t> timeout_seconds;
};

/// Of delete and deletecollection.
struct DeleteOptions {
    bool dry_run = false;
    std::optional<std::int64_t> grace_period_seconds;
    std::optional<std::string> uid, resource_version;  ///< preconditions
    std::optional<bool> orphan_dependents;
    std::string propagation_policy;        ///< "", "Orphan", "Background", "Foreground"
    bool ignore_store_read_error = false;  ///< ignoreStoreReadErrorWithClusterBreakingPotential
};

/// `operation` names the options in errors: "CreateOptions", "UpdateOptions", "PatchOptions". Errors: Invalid, BadRequest.
Result<WriteOptions> parse_write_options(const RequestInfo& info, std::string_view operation, bool is_apply);
Result<ListOptions> parse_list_options(const RequestInfo& info);
/// `body` is the decoded DeleteOptions, or null; the query is used for fields that it omits.
Result<DeleteOptions> parse_delete_options(const RequestInfo& info, const schema::Value& body);

/// A resourceVersion as a number. Error: BadRequest.
Result<std::uint64_t> parse_resource_version(std::string_view text);

}  // namespace porthole::apiserver
