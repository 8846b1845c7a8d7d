#include "apiserver/request/options.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace porthole::apiserver {
namespace {

/// What is wrong with an options object, gathered into one Invalid error.
class OptionErrors {
public:
    OptionErrors(std::string_view kind, std::string_view group) : kind_(kind), group_(group) {}

    void add(const char* type, std::string field, std::string message) { causes_.push_back({type, std::move(message), std::move(field)}); }
    void not_supported(std::string field, std::string_view value, std::string_view supported) {
        add("FieldValueNotSupported", std::move(field),
            "Unsupported value: \"" + std::string(value) + "\": supported values: " + std::string(supported));
    }
    Result<void> result() && {
        if (causes_.empty()) return {};
        std::string list;
        for (const Cause& cause : causes_) {
            if (!list.empty()) list += ", ";
            list += cause.field + ": " + cause.message;
        }
        if (causes_.size() > 1) list = "[" + list + "]";
        Error error(Reason::Invalid, kind_ + "." + group_ + " \"\" is invalid: " + list);
        error.details->kind = kind_;
        error.details->group = group_;
        error.details->causes = std::move(causes_);
        return error;
    }

private:
    std::string kind_, group_;
    std::vector<Cause> causes_;
};

Result<std::optional<std::int64_t>> parse_number(const RequestInfo& info, std::string_view name) {
    if (!info.has_parameter(name) || info.parameter(name).empty()) return std::optional<std::int64_t>();
    const std::string_view text = info.parameter(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return Error(Reason::BadRequest, "converting (*[]string) to int64 failed: parameter " + std::string(name) + ": \"" +
                                             std::string(text) + "\" is not a number");
    }
    return std::optional(value);
}

bool check_dry_run(const RequestInfo& info, OptionErrors& errors) {
    bool dry_run = false;
    for (const auto& [key, value] : info.query) {
        if (key != "dryRun") continue;
        dry_run = true;
        if (value != "All") errors.not_supported("dryRun", value, "\"All\"");
    }
    return dry_run;
}

void check_field_manager(std::string_view manager, OptionErrors& errors) {
    if (manager.size() > 128) errors.add("FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes");
    if (std::ranges::any_of(manager, [](unsigned char c) { return c < ' ' || c == 0x7f; })) {
        errors.add("FieldValueInvalid", "fieldManager",
                   "Invalid value: \"" + std::string(manager) + "\": should only contain printable characters");
    }
}

}  // namespace

Result<WriteOptions> parse_write_options(const RequestInfo& info, std::string_view operation, bool is_apply) {
    WriteOptions options;
    OptionErrors errors(operation, "meta.k8s.io");
    options.dry_run = check_dry_run(info, errors);
    options.field_manager = info.parameter("fieldManager");
    options.force = info.flag("force");
    check_field_manager(options.field_manager, errors);
    if (is_apply && options.field_manager.empty())
        errors.add("FieldValueRequired", "fieldManager", "Required value: is required for apply patch");
    if (!is_apply && operation == "PatchOptions" && info.has_parameter("force"))
        errors.add("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch");
    const std::string_view validation = info.parameter("fieldValidation");
    if (validation == "Ignore") {
        options.field_validation = FieldValidation::Ignore;
    } else if (validation == "Strict") {
        options.field_validation = FieldValidation::Strict;
    } else if (!validation.empty() && validation != "Warn") {
        errors.not_supported("fieldValidation", validation, "\"\", \"Ignore\", \"Strict\", \"Warn\"");
    }
    TRY_VOID(std::move(errors).result());
    return options;
}

Result<ListOptions> parse_list_options(const RequestInfo& info) {
    ListOptions options;
    options.label_selector = info.parameter("labelSelector");
    options.field_selector = info.parameter("fieldSelector");
    options.resource_version = info.parameter("resourceVersion");
    options.resource_version_match = info.parameter("resourceVersionMatch");
    options.continue_ = info.parameter("continue");
    options.watch = info.verb == "watch";
    options.allow_watch_bookmarks = info.flag("allowWatchBookmarks");
    if (info.has_parameter("sendInitialEvents")) options.send_initial_events = info.flag("sendInitialEvents");
    TRY(const auto limit, parse_number(info, "limit"));
    options.limit = std::max<std::int64_t>(0, limit.value_or(0));
    TRY(options.timeout_seconds, parse_number(info, "timeoutSeconds"));

    OptionErrors errors("ListOptions", "meta.k8s.io");
    const std::string& match = options.resource_version_match;
    if (options.watch) {
        if (options.send_initial_events && match.empty()) {
            errors.add("FieldValueForbidden", "resourceVersionMatch",
                       "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        } else if (options.send_initial_events && match != "NotOlderThan") {
            errors.not_supported("resourceVersionMatch", match, "\"NotOlderThan\"");
        } else if (!options.send_initial_events && !match.empty()) {
            errors.add("FieldValueForbidden", "resourceVersionMatch",
                       "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        }
    } else if (options.send_initial_events) {
        errors.add("FieldValueForbidden", "sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list");
    }
    if (!options.watch && !match.empty()) {
        if (!options.continue_.empty()) {
            errors.add("FieldValueForbidden", "resourceVersionMatch",
                       "Forbidden: resourceVersionMatch is forbidden when continue is provided");
        } else if (options.resource_version.empty()) {
            errors.add("FieldValueForbidden", "resourceVersionMatch",
                       "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided");
        } else if (match != "Exact" && match != "NotOlderThan") {
            errors.not_supported("resourceVersionMatch", match, "\"Exact\", \"NotOlderThan\", \"\"");
        } else if (match == "Exact" && options.resource_version == "0") {
            errors.add("FieldValueForbidden", "resourceVersionMatch",
                       "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    TRY_VOID(std::move(errors).result());
    return options;
}

namespace {

constexpr const char* IgnoreReadError = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// What cannot be read cannot be deleted otherwise than at once and without conditions.
void check_ignored_read_error(const DeleteOptions& options, OptionErrors& errors) {
    if (!options.ignore_store_read_error) return;
    const auto refuse = [&](bool given, const char* field) {
        if (given)
            errors.add("FieldValueInvalid", IgnoreReadError, std::string("Invalid value: true: cannot be set together with .") + field);
    };
    refuse(options.uid || options.resource_version, "preconditions");
    refuse(!options.propagation_policy.empty(), "propagationPolicy");
    refuse(options.orphan_dependents.has_value(), "orphanDependents");
    refuse(options.grace_period_seconds.has_value(), "gracePeriodSeconds");
}

}  // namespace

Result<DeleteOptions> parse_delete_options(const RequestInfo& info, const schema::Value& body) {
    DeleteOptions options;
    OptionErrors errors("DeleteOptions", "meta.k8s.io");
    options.dry_run = check_dry_run(info, errors);
    TRY(options.grace_period_seconds, parse_number(info, "gracePeriodSeconds"));
    options.propagation_policy = info.parameter("propagationPolicy");
    if (info.has_parameter("orphanDependents")) options.orphan_dependents = info.flag("orphanDependents");
    options.ignore_store_read_error = info.flag(IgnoreReadError);
    if (body.is_object()) {
        if (const auto* ignore = body.find(IgnoreReadError); ignore && ignore->is_bool())
            options.ignore_store_read_error = ignore->as_bool();
        if (const auto* values = body.find("dryRun"); values && values->is_array()) {
            for (const schema::Value& value : values->as_array()) {
                options.dry_run = true;
                if (value.string_or("") != "All") errors.not_supported("dryRun", value.string_or(""), "\"All\"");
            }
        }
        if (const auto* grace = body.find("gracePeriodSeconds"); grace && grace->is_int()) options.grace_period_seconds = grace->as_int();
        if (const auto* orphan = body.find("orphanDependents"); orphan && orphan->is_bool()) options.orphan_dependents = orphan->as_bool();
        if (const auto policy = body.string_at({"propagationPolicy"}); !policy.empty()) options.propagation_policy = policy;
        if (const auto uid = body.string_at({"preconditions", "uid"}); !uid.empty()) options.uid = uid;
        if (const auto version = body.string_at({"preconditions", "resourceVersion"}); !version.empty()) options.resource_version = version;
    }
    const std::string& policy = options.propagation_policy;
    if (options.orphan_dependents && !policy.empty()) {
        errors.add("FieldValueInvalid", "propagationPolicy",
                   "Invalid value: \"" + policy + "\": orphanDependents and deletionPropagation cannot be both set");
    }
    if (!policy.empty() && policy != "Foreground" && policy != "Background" && policy != "Orphan")
        errors.not_supported("propagationPolicy", policy, "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    check_ignored_read_error(options, errors);
    TRY_VOID(std::move(errors).result());
    return options;
}

Result<std::uint64_t> parse_resource_version(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return value;
    return Error(Reason::BadRequest, "Invalid value: \"" + std::string(text) + "\": invalid resource version");
}

}  // namespace porthole::apiserver
