#include "apiserver/request/status.h"
#include "apiserver/resources/continue_token.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/resources/resource_store.h"

namespace porthole::apiserver {
namespace {

constexpr Duration FreshnessLimit = std::chrono::seconds(3);

/// A revision that the client has not seen here yet, in the words of a watch cache.
Error annotated_too_large(Error error) {
    if (error.reason == Reason::Timeout) {
        error.details->causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
        error.details->retry_after_seconds = 1;
    }
    return error;
}

Error expired_token() {
    return Error(Reason::Expired,
                 "The provided continue parameter is too old to display a consistent list result. "
                 "Start a new list without it, or continue with the token in this response: "
                 "the remainder is read at the current revision, so objects created, deleted or changed since the first page may be "
                 "missing or appear twice.");
}

/// A list without them would say that they do not exist.
Result<void> ensure_all_decrypted(const std::vector<store::RecordPtr>& records) {
    for (const store::RecordPtr& record : records) TRY_VOID(ensure_decrypted(*record));
    return {};
}

}  // namespace

Task<store::RecordPtr> ResourceStore::get(const Resource& resource, std::string namespace_, std::string name,
                                          std::string resource_version) {
    if (!resource_version.empty()) {
        CO_TRY(const std::uint64_t wanted, parse_resource_version(resource_version));
        if (auto seen = co_await seams_.store.wait_for_revision(store::Revision(wanted), FreshnessLimit); !seen)
            co_return annotated_too_large(std::move(seen).error());
    }
    store::RecordPtr record = seams_.store.get(resource.key(namespace_, name));
    if (!record) co_return not_found(*resource.kind, name);
    CO_TRY_VOID(ensure_decrypted(*record));
    co_return present_record(resource, std::move(record));
}

Task<Page> ResourceStore::list(const Resource& resource, std::string namespace_, ListOptions options) {
    CO_TRY(const ObjectFilter filter, ObjectFilter::create(resource, options.label_selector, options.field_selector));
    store::RangeRequest range{.prefix = resource.prefix_of(namespace_)};
    range.limit = static_cast<std::size_t>(options.limit);
    std::optional<ContinueToken> token;
    if (!options.continue_.empty()) {
        if (!options.resource_version.empty() && options.resource_version != "0")
            co_return bad_request("specifying resource version is not allowed when using continue");
        CO_TRY(token, ContinueToken::parse(options.continue_, range.prefix));
        range.start_key = token->start_key;
        range.revision = token->revision;
    } else if (!options.resource_version.empty()) {
        CO_TRY(const std::uint64_t wanted, parse_resource_version(options.resource_version));
        if (auto seen = co_await seams_.store.wait_for_revision(store::Revision(wanted), FreshnessLimit); !seen)
            co_return annotated_too_large(std::move(seen).error());
        if (options.resource_version_match == "Exact") range.revision = store::Revision(wanted);
    }
    if (!filter.empty()) range.matches = [&filter](const store::Record& record) { return filter.matches(record); };

    Page page;
    if (!token && !filter.name().empty() && !namespace_.empty() == resource.kind->namespaced() && range.revision == store::Revision()) {
        // One name in one namespace: no need to walk the others.
        page.revision = seams_.store.revision();
        if (store::RecordPtr record = seams_.store.get(resource.key(namespace_, filter.name())); record && filter.matches(*record))
            page.records.push_back(std::move(record));
        CO_TRY_VOID(ensure_all_decrypted(page.records));
        for (store::RecordPtr& only : page.records) only = present_record(resource, std::move(only));
        co_return page;
    }
    auto found = seams_.store.range(range);
    if (!found) {
        if (found.error().reason == Reason::Expired && token) co_return expired_token();
        if (found.error().reason == Reason::Expired) co_return Error(Reason::Expired, "The provided resource version is too old.");
        co_return std::move(found).error();
    }
    CO_TRY_VOID(ensure_all_decrypted(found->records));
    page.records = std::move(found->records);
    if (resource.form != 0)
        for (store::RecordPtr& record : page.records) record = present_record(resource, std::move(record));
    page.revision = found->revision;
    if (!found->next_key.empty()) {
        page.continue_ = ContinueToken{.revision = found->revision, .start_key = found->next_key}.text(range.prefix);
        if (filter.empty()) page.remaining = found->remaining;
    }
    co_return page;
}

}  // namespace porthole::apiserver
