#include "store/watch_hub.h"

#include <algorithm>

namespace porthole::store {
namespace {

std::string_view topic_of(const RecordPtr& record) {
    return record && record->attributes ? record->attributes->topic() : std::string_view();
}

bool matches(const WatchRequest& request, const Event& event) {
    if (event.revision <= request.after) return false;
    const std::string& key = event.record->key;
    if (request.prefix.ends_with('/') ? !key.starts_with(request.prefix) : key != request.prefix) return false;
    return request.topic.empty() || topic_of(event.record) == request.topic || topic_of(event.previous) == request.topic;
}

constexpr std::size_t BatchBytes = 4 << 20;  ///< what a reader is given at a time holds more only by its last event

/// What an event keeps in memory when the history has forgotten it.
std::size_t size_of(const Event& event) { return event.record->value.size() + (event.previous ? event.previous->value.size() : 0); }

}  // namespace

Result<Watch> WatchHub::subscribe(WatchRequest request) {
    if (request.after < history_.compacted()) return expired_error(request.after, history_.compacted());
    auto watcher = std::make_shared<Watcher>();
    watcher->hub = this;
    watcher->delivered = request.after;
    watcher->cursor = history_.first_after(request.after);
    watcher->behind = watcher->cursor < history_.log_end();
    watcher->request = std::move(request);
    Group& group = groups_[watcher->request.prefix];
    (watcher->request.topic.empty() ? group.all : group.by_topic[watcher->request.topic]).push_back(watcher.get());
    return Watch(std::move(watcher));
}

void WatchHub::unsubscribe(Watcher& watcher) {
    const auto group = groups_.find(watcher.request.prefix);
    if (watcher.request.topic.empty()) {
        std::erase(group->second.all, &watcher);
    } else {
        const auto topic = group->second.by_topic.find(watcher.request.topic);
        std::erase(topic->second, &watcher);
        if (topic->second.empty()) group->second.by_topic.erase(topic);
    }
    if (group->second.all.empty() && group->second.by_topic.empty()) groups_.erase(group);
}

template <class Visit>
void WatchHub::visit_watchers(Visit visit) const {
    for (const auto& [prefix, group] : groups_) {
        for (Watcher* watcher : group.all) visit(*watcher);
        for (const auto& [topic, watchers] : group.by_topic)
            for (Watcher* watcher : watchers) visit(*watcher);
    }
}

void WatchHub::expire_all() {
    visit_watchers([&](Watcher& watcher) {
        watcher.delivered = delivered(watcher);
        watcher.behind = true;
        watcher.cursor = 0;  // before the log of a history that has started again
        watcher.queue = {};
        watcher.queued_bytes = 0;
        watcher.waiting.wake_all({});
    });
}

void WatchHub::close() {
    visit_watchers([](Watcher& watcher) {
        watcher.hub = nullptr;
        watcher.waiting.wake_all({});
    });
    groups_.clear();
}

void WatchHub::publish(std::uint64_t index, const EventPtr& event) {
    const std::string_view key = event->record->key;
    for (std::size_t slash = key.find('/'); slash != key.npos; slash = key.find('/', slash + 1)) {
        publish_to(key.substr(0, slash + 1), index, event);
    }
    if (!key.ends_with('/')) publish_to(key, index, event);
}

void WatchHub::publish_to(std::string_view prefix, std::uint64_t index, const EventPtr& event) {
    const auto found = groups_.find(prefix);
    if (found == groups_.end()) return;
    for (Watcher* watcher : found->second.all) offer(*watcher, index, event);
    const auto& by_topic = found->second.by_topic;
    if (by_topic.empty()) return;
    const std::string_view now = topic_of(event->record), before = topic_of(event->previous);
    for (const std::string_view topic : {now, before == now ? std::string_view() : before}) {
        const auto watchers = topic.empty() ? by_topic.end() : by_topic.find(topic);
        if (watchers == by_topic.end()) continue;
        for (Watcher* watcher : watchers->second) offer(*watcher, index, event);
    }
}

void WatchHub::offer(Watcher& watcher, std::uint64_t index, const EventPtr& event) {
    if (event->revision <= watcher.request.after) return;
    if (!watcher.behind) {
        watcher.queue.push_back({index, event});
        watcher.queued_bytes += size_of(*event);
        if (watcher.queue.size() > queue_limit_ || watcher.queued_bytes > queue_bytes_) {
            watcher.delivered = delivered(watcher);
            watcher.behind = true;
            watcher.cursor = watcher.queue.front().index;
            watcher.queue = {};
            watcher.queued_bytes = 0;
        }
    }
    if (!watcher.waiting.empty()) watcher.waiting.wake_first({});
}

Result<std::vector<EventPtr>> WatchHub::catch_up(Watcher& watcher, std::size_t limit) const {
    if (watcher.cursor < history_.log_begin()) return expired_error(delivered(watcher), history_.compacted());
    std::vector<EventPtr> events;
    std::size_t bytes = 0;
    for (; watcher.cursor < history_.log_end() && events.size() < limit && bytes < BatchBytes; ++watcher.cursor) {
        const EventPtr& event = history_.event(watcher.cursor);
        if (!matches(watcher.request, *event)) continue;
        bytes += size_of(*event);
        events.push_back(event);
    }
    watcher.behind = watcher.cursor < history_.log_end();
    watcher.delivered = delivered(watcher);
    return events;
}

Result<std::vector<EventPtr>> WatchHub::take_now(Watcher& watcher, std::size_t limit) const {
    if (watcher.behind) return catch_up(watcher, limit);
    std::vector<EventPtr> events;
    events.reserve(std::min(limit, watcher.queue.size()));
    const std::size_t before = watcher.queued_bytes;
    for (; !watcher.queue.empty() && events.size() < limit && before - watcher.queued_bytes < BatchBytes; watcher.queue.pop_front()) {
        events.push_back(std::move(watcher.queue.front().event));
        watcher.queued_bytes -= size_of(*events.back());
    }
    return events;
}

Revision WatchHub::delivered(const Watcher& watcher) const {
    // Before the next event that has not been taken: its transaction may have others, which have.
    Revision revision = history_.revision();
    if (watcher.behind) {
        if (watcher.cursor < history_.log_begin()) return watcher.delivered;
        if (watcher.cursor < history_.log_end()) revision = history_.event(watcher.cursor)->revision.previous();
    } else if (!watcher.queue.empty()) {
        revision = watcher.queue.front().event->revision.previous();
    }
    return std::max(revision, watcher.request.after);
}

Result<std::vector<EventPtr>> WatchHub::take(Watcher& watcher, std::size_t limit) {
    CHECK(limit > 0);
    if (!watcher.hub) return Error(Reason::ServiceUnavailable, "the store is closing");
    return watcher.hub->take_now(watcher, limit);
}

Task<std::vector<EventPtr>> WatchHub::next(std::shared_ptr<Watcher> watcher, std::size_t limit) {
    for (;;) {
        CO_TRY(auto events, take(*watcher, limit));
        if (!events.empty()) co_return std::move(events);
        CO_TRY_VOID(co_await watcher->waiting.wait());
    }
}

Task<> WatchHub::wait(std::shared_ptr<Watcher> watcher) {
    if (watcher->hub && !watcher->behind && watcher->queue.empty()) CO_TRY_VOID(co_await watcher->waiting.wait());
    co_return {};
}

Watch::Watch(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept {
    std::swap(watcher_, other.watcher_);
    return *this;
}
Watch::~Watch() {
    if (watcher_ && watcher_->hub) watcher_->hub->unsubscribe(*watcher_);
}

Task<std::vector<EventPtr>> Watch::next(std::size_t limit) { return WatchHub::next(watcher_, limit); }

Task<> Watch::wait() { return WatchHub::wait(watcher_); }

Result<std::vector<EventPtr>> Watch::take(std::size_t limit) { return WatchHub::take(*watcher_, limit); }

Revision Watch::revision() const { return watcher_->hub ? watcher_->hub->delivered(*watcher_) : watcher_->delivered; }

}  // namespace porthole::store
