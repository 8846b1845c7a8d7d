#include "apiserver/storage/record_follower.h"

#include <utility>

#include "apiserver/storage/keys.h"

namespace porthole::apiserver {

RecordFollower::RecordFollower(const schema::Kind& kind, Sink sink) : prefix_(kind_prefix(kind)), sink_(std::move(sink)) {}

Result<void> RecordFollower::load(const store::Store& store) {
    TRY(const store::Range range, store.range({.prefix = prefix_}));
    sink_.clear();
    for (const store::RecordPtr& record : range.records) sink_.put(key_of(*record), *record);
    revision_ = range.revision;
    return {};
}

Task<> RecordFollower::follow(store::Store& store) {
    for (;;) {
        auto watch = store.watch({.prefix = prefix_, .after = revision_});
        if (watch) CO_TRY_VOID(co_await take_events(*watch));
        CO_TRY_VOID(load(store));  // too much has been missed
    }
}

Task<> RecordFollower::take_events(store::Watch& watch) {
    for (;;) {
        auto events = co_await watch.next();
        if (!events && events.error().reason == Reason::Expired) co_return {};
        if (!events) co_return std::move(events).error();
        for (const store::EventPtr& event : *events) {
            if (event->type == store::Event::Type::Delete) {
                sink_.remove(key_of(*event->record));
            } else {
                sink_.put(key_of(*event->record), *event->record);
            }
            revision_ = event->revision;
        }
    }
}

}  // namespace porthole::apiserver
