#include "apiserver/policy_status.h"

#include "apiserver/admission/policies/type_checking.h"
#include "apiserver/storage/keys.h"
#include "schema/json/json.h"

namespace porthole::apiserver {

Task<> PolicyStatus::follow(client::Client& client) {
    const std::string prefix = kind_prefix(Policy::kind());
    for (;;) {
        CO_TRY(const store::Range range, store_.range({.prefix = prefix}));
        for (const store::RecordPtr& record : range.records) CO_TRY_VOID(co_await settle(record, client));
        auto watch = store_.watch({.prefix = prefix, .after = range.revision});
        if (watch) CO_TRY_VOID(co_await take_changes(*watch, client));
    }
}

/// Ends well when the watch has expired.
Task<> PolicyStatus::take_changes(store::Watch& watch, client::Client& client) {
    for (;;) {
        auto events = co_await watch.next();
        if (!events && events.error().reason == Reason::Expired) co_return {};
        if (!events) co_return std::move(events).error();
        for (const store::EventPtr& event : *events)
            if (event->type == store::Event::Type::Put) CO_TRY_VOID(co_await settle(event->record, client));
    }
}

Task<> PolicyStatus::settle(const store::RecordPtr record, client::Client& client) {
    auto policy = schema::decode_json<Policy>(*record->value.bytes());
    if (!policy || policy->metadata.generation <= policy->status.observed_generation) co_return {};
    const PolicyTypeCheck check(std::make_shared<const Policy>(*policy), registry_);
    CO_TRY(auto warnings, co_await run_blocking<std::vector<PolicyTypeCheck::Warning>>(
                              pool_, [&]() -> Result<std::vector<PolicyTypeCheck::Warning>> { return check.check(); }));
    policy->status.observed_generation = policy->metadata.generation;
    policy->status.type_checking.emplace().expression_warnings = std::move(warnings);
    const std::string name = policy->metadata.name;
    const auto written = co_await client.update_status(*std::move(policy));
    if (written || written.error().reason == Reason::Conflict || is_not_found(written)) co_return {};  // what has changed comes as an event
    if (is_cancelled(written)) co_return written.error();
    log_.warn("the status of a ValidatingAdmissionPolicy cannot be written", {{"name", name}, {"error", written.error().message}});
    co_return {};
}

}  // namespace porthole::apiserver
