#include "apiserver/resources/watch_stream.h"

#include <algorithm>

#include "apiserver/resources/object_attributes.h"
#include "apiserver/resources/piecewise_range.h"
#include "apiserver/resources/version_converter.h"
#include "base/result.h"
#include "base/time/bounded_seconds.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr Duration BookmarkEvery = std::chrono::minutes(1);
constexpr Duration ShortestWatch = std::chrono::minutes(30);
constexpr std::size_t ChunkLimit = 64 << 10;

/// The bytes of an older record with a newer revision: what a watcher is told of an object that leaves its selection.
std::string stamped(const store::Record& record, store::Revision revision) {
    std::string bytes = *record.value.bytes();
    if (!record.revision_at) return bytes;
    const std::size_t digits = store::to_string(record.modified).size();
    bytes.replace(*record.revision_at, digits, store::to_string(revision));
    return bytes;
}

/// The same of a record that a webhook has converted, which has no place for a revision.
std::string stamped_anew(const store::Record& record, store::Revision revision) {
    auto tree = schema::parse_json(*record.value.bytes(), {.depth = 2 * schema::MaxTreeDepth});
    if (!tree) return *record.value.bytes();
    (*tree)["metadata"]["resourceVersion"] = store::to_string(revision);
    return schema::to_json(*tree);
}

class WatchStream {
public:
    WatchStream(ResourceStore& objects, WatchRequest request, ResponseEncoder encoder, Random& random, net::HttpResponder& responder,
                std::function<void()> begun)
        : objects_(objects),
          request_(std::move(request)),
          encoder_(std::move(encoder)),
          random_(random),
          responder_(responder),
          begun_(std::move(begun)) {}

    Task<> run(net::Headers headers) {
        CO_TRY(filter_, ObjectFilter::create(request_.resource, request_.options.label_selector, request_.options.field_selector));
        CO_TRY(store::Revision after, co_await starting_point());
        const Clock& clock = objects_.clock();
        const MonotonicTime end = clock.now() + time_limit();
        // Without initial events the work is over: the peer may take the head as slowly as it likes.
        if (!wants_initial_events()) begun_();
        CO_TRY_VOID(co_await responder_.start(200, std::move(headers)));
        if (wants_initial_events()) {
            auto sent = co_await send_initial_events(after);
            if (!sent && is_reported(sent.error())) co_return co_await end_with(std::move(sent).error());
            CO_TRY_VOID(std::move(sent));
        }

        begun_();
        auto watch = objects_.store().watch({.prefix = watched_prefix(), .after = after, .topic = topic()});
        if (!watch) co_return co_await end_with(std::move(watch).error());
        MonotonicTime bookmark = clock.now() + BookmarkEvery;
        while (true) {
            const MonotonicTime until = std::min(end, bookmark);
            const auto woken = co_await with_timeout(watch->wait(), std::max(until - clock.now(), Duration(0)), "watch");
            if (is_cancelled(woken)) co_return woken.error();
            // What comes now belongs to another schema: the client asks again.
            if (request_.resource.retired) co_return co_await responder_.finish();
            if (request_.work.turn_is_over()) CO_TRY_VOID(co_await request_.work.next_turn(Turns::Stage::New));
            // Only now, in its turn: what has come since it was woken is sent with what it was woken for.
            auto events = watch->take();
            Result<void> sent;
            if (!events) {
                sent = std::move(events).error();
            } else if (!events->empty()) {
                sent = co_await send(std::move(*events));
            }
            if (!sent && is_reported(sent.error())) co_return co_await end_with(std::move(sent).error());
            CO_TRY_VOID(std::move(sent));
            const MonotonicTime now = clock.now();
            if (now >= std::min(end, bookmark)) {
                bookmark = now + BookmarkEvery;
                CO_TRY_VOID(co_await send_bookmark(watch->revision(), false));
            }
            if (now >= end) co_return co_await responder_.finish();
        }
    }

private:
    std::string watched_prefix() const {
        const bool one = !filter_.name().empty() && (!request_.resource.kind->namespaced() || !request_.namespace_.empty());
        return one ? request_.resource.key(request_.namespace_, filter_.name()) : request_.resource.prefix_of(request_.namespace_);
    }
    std::string topic() const {
        const std::string_view field = request_.resource.strategy->topic_field;
        return field.empty() ? "" : std::string(filter_.equal_to(field));
    }
    bool from_beginning() const { return request_.options.resource_version.empty() || request_.options.resource_version == "0"; }
    bool wants_initial_events() const { return request_.options.send_initial_events.value_or(from_beginning()); }

    Task<store::Revision> starting_point() {
        // As upstream, a watch that does not say where it begins may begin with what this server has, unless it asks for a list first.
        if (request_.options.resource_version.empty() && request_.options.send_initial_events) CO_TRY_VOID(co_await objects_.catch_up());
        if (from_beginning()) co_return objects_.store().revision();
        CO_TRY(const std::uint64_t wanted, parse_resource_version(request_.options.resource_version));
        if (!wants_initial_events()) co_return store::Revision(wanted);
        CO_TRY_VOID(co_await objects_.store().wait_for_revision(store::Revision(wanted), std::chrono::seconds(3)));
        co_return objects_.store().revision();
    }

    /// Whether the peer can still be told.
    static bool is_reported(const Error& error) { return !is_cancelled(error) && error.reason != Reason::Unavailable; }

    Duration time_limit() {
        if (const auto seconds = request_.options.timeout_seconds; seconds && *seconds > 0) return bounded_seconds(*seconds);
        // Spread, so that the watches of a restarted server do not all end together.
        return ShortestWatch + std::chrono::seconds(random_.below(30 * 60));
    }

    /// What there is at `revision`, as if it had just been added.
    Task<> send_initial_events(store::Revision revision) {
        store::RangeRequest range{.prefix = watched_prefix(), .revision = revision};
        if (!request_.resource.converter && !filter_.empty())
            range.matches = [this](const store::Record& record) { return filter_.matches(record); };
        Pieces pieces{request_.work, objects_.clock()};
        CO_TRY(store::Range found, co_await read_range(objects_.store(), std::move(range), &pieces));
        if (request_.resource.converter) {
            CO_TRY(found.records, co_await request_.resource.converter->records(request_.resource, std::move(found.records)));
        }
        encoder_.set_now(Timestamp(objects_.clock().wall_now()));
        WatchFrames frames;
        for (const store::RecordPtr& record : found.records) {
            if (request_.resource.converter && !filter_.matches(*record)) continue;
            CO_TRY_VOID(ensure_decrypted(*record));
            CO_TRY_VOID(encoder_.append_event("ADDED", present_bytes(request_.resource, *record), frames));
            if (request_.work.turn_is_over()) CO_TRY_VOID(co_await request_.work.next_turn());
            if (frames.size() < ChunkLimit) continue;
            begun_();
            CO_TRY_VOID(co_await flush(frames));
        }
        CO_TRY_VOID(co_await flush(frames));
        if (request_.options.send_initial_events.value_or(false)) CO_TRY_VOID(co_await send_bookmark(revision, true));
        co_return {};
    }

    /// The events as a webhook converts what they are about, in their order.
    Task<std::vector<store::EventPtr>> converted(std::vector<store::EventPtr> events) {
        const Resource& resource = request_.resource;
        if (!resource.converter) co_return events;
        // Those before are only selected by, or told when an object leaves the selection.
        const bool with_previous = !filter_.empty();
        std::vector<store::RecordPtr> records;
        for (const store::EventPtr& event : events) {
            records.push_back(event->record);
            if (with_previous && event->previous) records.push_back(event->previous);
        }
        CO_TRY(records, co_await resource.converter->records(resource, std::move(records)));
        auto next = records.begin();
        for (store::EventPtr& event : events) {
            store::Event shown = *event;
            shown.record = *next++;
            if (with_previous && shown.previous) shown.previous = *next++;
            event = std::make_shared<const store::Event>(std::move(shown));
        }
        co_return events;
    }

    Task<> send(std::vector<store::EventPtr> events) {
        CO_TRY(events, co_await converted(std::move(events)));
        encoder_.set_now(Timestamp(objects_.clock().wall_now()));
        WatchFrames frames;
        for (const store::EventPtr& event : events) {
            CO_TRY_VOID(append(*event, frames));
            if (request_.work.turn_is_over()) CO_TRY_VOID(co_await request_.work.next_turn());
            if (frames.size() >= ChunkLimit) CO_TRY_VOID(co_await flush(frames));
        }
        co_return co_await flush(frames);
    }

    Result<void> append(const store::Event& event, WatchFrames& frames) {
        // Nobody has seen what could not be decrypted, so its end is no news, either.
        if (is_unreadable(event.record->value)) return {};
        const bool was = event.previous && !is_unreadable(event.previous->value) && filter_.matches(*event.previous);
        if (event.type == store::Event::Type::Delete)
            return was ? encoder_.append_event("DELETED", present_bytes(request_.resource, *event.record), frames) : Result<void>();
        const bool is = filter_.matches(*event.record);
        if (is) return encoder_.append_event(was ? "MODIFIED" : "ADDED", present_bytes(request_.resource, *event.record), frames);
        if (!was) return {};
        std::string left =
            request_.resource.converter ? stamped_anew(*event.previous, event.revision) : stamped(*event.previous, event.revision);
        return encoder_.append_event("DELETED", bytes_of(present_text(request_.resource, std::move(left))), frames);
    }

    Task<> flush(WatchFrames& frames) {
        for (store::Bytes& piece : frames.take()) CO_TRY_VOID(co_await responder_.write(std::move(piece)));
        co_return {};
    }

    Task<> send_bookmark(store::Revision revision, bool initial_events_end) {
        if (!request_.options.allow_watch_bookmarks) co_return {};
        std::string frame;
        encoder_.append_bookmark(revision, initial_events_end, frame);
        co_return co_await responder_.write(bytes_of(std::move(frame)));
    }

    Task<> end_with(Error error) {
        std::string frame;
        encoder_.append_error(error, frame);
        CO_TRY_VOID(co_await responder_.write(bytes_of(std::move(frame))));
        co_return co_await responder_.finish();
    }

    ResourceStore& objects_;
    WatchRequest request_;
    ResponseEncoder encoder_;
    Random& random_;
    net::HttpResponder& responder_;
    std::function<void()> begun_;
    ObjectFilter filter_;
};

}  // namespace

Task<> serve_watch(ResourceStore& objects, WatchRequest request, ResponseEncoder encoder, net::Headers headers, Random& random,
                   net::HttpResponder& responder, std::function<void()> begun) {
    WatchStream stream(objects, std::move(request), std::move(encoder), random, responder, std::move(begun));
    co_return co_await stream.run(std::move(headers));
}

}  // namespace porthole::apiserver
