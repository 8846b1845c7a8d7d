#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "apiserver/storage/keys.h"
#include "base/log.h"
#include "schema/json/json.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Objects of one kind by "namespace/name" (or "name").
template <class T>
using ObjectMap = std::map<std::string, std::shared_ptr<const T>, std::less<>>;

/// All objects of a small kind, decoded and kept up to date from the store: for objects that every request needs. Lives on the store's
/// loop; the store must outlive it.
///
/// An object that cannot be decoded is left out, as if it did not exist, and logged: one invalid object must neither freeze the state of
/// all others nor prevent the server from starting.
template <class T>
class Mirror {
public:
    Mirror(store::Store& store, Logger log) : store_(store), log_(std::move(log)), prefix_(kind_prefix(T::kind())) {}

    const ObjectMap<T>& objects() const { return objects_; }

    /// Reads everything, without suspending. Call before the first use. Error: that of Store::range().
    Result<void> load() {
        TRY(const store::Range range, store_.range({.prefix = prefix_}));
        objects_.clear();
        for (const store::RecordPtr& record : range.records) put(*record);
        revision_ = range.revision;
        return {};
    }
    /// Called with the name of an object that was added, changed or removed; "" if it may be any.
    using Changed = std::function<void(std::string_view name)>;
    /// Follows changes until it is cancelled. `changed` may be empty.
    Task<> follow(Changed changed = {}) {
        for (;;) {
            auto watch = store_.watch({.prefix = prefix_, .after = revision_});
            if (watch) CO_TRY_VOID(co_await take_events(*watch, changed));
            CO_TRY_VOID(load());  // too much has been missed
            if (changed) changed("");
        }
    }

private:
    /// Ends well when the watch has expired.
    Task<> take_events(store::Watch& watch, const Changed& changed) {
        for (;;) {
            auto events = co_await watch.next();
            if (!events && events.error().reason == Reason::Expired) co_return {};
            if (!events) co_return std::move(events).error();
            for (const store::EventPtr& event : *events) {
                const std::string name = event->record->key.substr(prefix_.size());
                if (event->type == store::Event::Type::Delete) {
                    objects_.erase(name);
                } else {
                    put(*event->record);
                }
                revision_ = event->revision;
                if (changed) changed(name);
            }
        }
    }
    void put(const store::Record& record) {
        const std::string name = record.key.substr(prefix_.size());
        auto object = schema::decode_json<T>(*record.value.bytes());
        if (object) {
            objects_[name] = std::make_shared<const T>(std::move(*object));
            return;
        }
        objects_.erase(name);
        log_.warn("an object cannot be read and is left out", {{"key", record.key}, {"error", object.error().message}});
    }

    store::Store& store_;
    Logger log_;
    const std::string prefix_;
    ObjectMap<T> objects_;
    store::Revision revision_;
};

}  // namespace porthole::apiserver
