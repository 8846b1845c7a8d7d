#include <algorithm>
#include <iterator>
#include <span>

#include "apiserver/request/status.h"
#include "apiserver/resources/continue_token.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/resources/piecewise_range.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/version_converter.h"

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

/// A list without those that cannot be decrypted would say that they do not exist.
Result<void> ensure_all_decrypted(std::span<store::RecordPtr> records) {
    for (const store::RecordPtr& record : records) TRY_VOID(ensure_decrypted(*record));
    return {};
}

void present(const Resource& resource, std::span<store::RecordPtr> records) {
    if (resource.form == 0) return;
    for (store::RecordPtr& record : records) record = present_record(resource, std::move(record));
}

/// Makes them what `resource` shows, with the help of its webhook.
Task<> convert_all(const Resource& resource, std::vector<store::RecordPtr>& records) {
    CO_TRY(records, co_await resource.converter->records(resource, std::move(records)));
    present(resource, records);
    co_return {};
}

}  // namespace

Task<> ResourceStore::seen(store::Revision revision) {
    auto reached = co_await seams_.store.wait_for_revision(revision, FreshnessLimit);
    if (!reached) co_return annotated_too_large(std::move(reached).error());
    co_return {};
}

Task<> ResourceStore::catch_up() {
    if (!seams_.shared) co_return {};
    auto caught_up = co_await seams_.shared->catch_up();
    if (!caught_up) co_return annotated_too_large(std::move(caught_up).error());
    co_return {};
}

Task<store::RecordPtr> ResourceStore::get(const Resource& resource, std::string namespace_, std::string name,
                                          std::string resource_version) {
    if (resource_version.empty()) {
        if (seams_.shared) CO_TRY_VOID(co_await catch_up());
    } else {
        CO_TRY(const std::uint64_t wanted, parse_resource_version(resource_version));
        CO_TRY_VOID(co_await seen(store::Revision(wanted)));
    }
    store::RecordPtr record = seams_.store.get(resource.key(namespace_, name));
    if (!record) co_return not_found(*resource.kind, name);
    CO_TRY_VOID(ensure_decrypted(*record));
    CO_TRY(record, co_await converted_record(resource, std::move(record)));
    co_return present_record(resource, std::move(record));
}

Task<Page> ResourceStore::list(const Resource& resource, std::string namespace_, ListOptions options, Pieces* pieces) {
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
        // The page before may be another server's.
        if (seams_.shared) CO_TRY_VOID(co_await seen(token->revision));
    } else if (options.resource_version.empty()) {
        if (seams_.shared) CO_TRY_VOID(co_await catch_up());
    } else {
        CO_TRY(const std::uint64_t wanted, parse_resource_version(options.resource_version));
        CO_TRY_VOID(co_await seen(store::Revision(wanted)));
        if (options.resource_version_match == "Exact") range.revision = store::Revision(wanted);
    }
    // What a webhook converts is selected as it shows it.
    const bool selects_converted = resource.converter && !filter.empty();
    if (!filter.empty() && !selects_converted) range.matches = [&filter](const store::Record& record) { return filter.matches(record); };

    const LookAtRecords look = [&resource](std::span<store::RecordPtr> records) -> Result<void> {
        TRY_VOID(ensure_all_decrypted(records));
        if (!resource.converter) present(resource, records);
        return {};
    };
    Page page;
    if (!token && !filter.name().empty() && !namespace_.empty() == resource.kind->namespaced() && range.revision == store::Revision()) {
        // One name in one namespace: no need to walk the others.
        page.revision = seams_.store.revision();
        if (store::RecordPtr record = seams_.store.get(resource.key(namespace_, filter.name()))) page.records.push_back(std::move(record));
        CO_TRY_VOID(look(page.records));
        if (resource.converter) CO_TRY_VOID(co_await convert_all(resource, page.records));
        std::erase_if(page.records, [&](const store::RecordPtr& record) { return !filter.matches(*record); });
        co_return page;
    }
    auto found = co_await read_range(seams_.store, range, pieces, look);
    if (found) page.revision = found->revision;
    while (found) {
        if (resource.converter) CO_TRY_VOID(co_await convert_all(resource, found->records));
        if (selects_converted) std::erase_if(found->records, [&](const store::RecordPtr& record) { return !filter.matches(*record); });
        if (page.records.empty())
            page.records = std::move(found->records);
        else
            std::ranges::move(found->records, std::back_inserter(page.records));
        const std::size_t limit = static_cast<std::size_t>(options.limit);
        if (!selects_converted || found->next_key.empty() || page.records.size() >= limit) break;
        range.start_key = found->next_key;
        range.revision = page.revision;
        range.limit = limit - page.records.size();
        found = co_await read_range(seams_.store, range, pieces, look);
    }
    if (!found) {
        if (found.error().reason == Reason::Expired && token) co_return expired_token();
        if (found.error().reason == Reason::Expired) co_return Error(Reason::Expired, "The provided resource version is too old.");
        co_return std::move(found).error();
    }
    if (!found->next_key.empty()) {
        page.continue_ = ContinueToken{.revision = page.revision, .start_key = found->next_key}.text(range.prefix);
        if (filter.empty()) page.remaining = found->remaining;
    }
    co_return page;
}

}  // namespace porthole::apiserver
