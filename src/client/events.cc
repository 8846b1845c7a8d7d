#include "client/events.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::client {
namespace {

using api::core::v1::Event;
using api::core::v1::ObjectReference;

constexpr std::size_t Remembered = 4096;
constexpr std::size_t LongestBacklog = 1000;
constexpr double BurstPerObject = 25;
constexpr double RefillPerSecond = 1.0 / 300;
constexpr std::size_t SimilarAllowed = 10;
constexpr Duration SimilarInterval = std::chrono::minutes(10);
constexpr int Attempts = 12;
constexpr Duration BetweenAttempts = std::chrono::seconds(10);
constexpr std::size_t LongestMessage = 1024;

std::string identity(const Event& event) {
    const ObjectReference& object = event.involved_object;
    return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", event.source.component, object.api_version, object.kind, object.namespace_, object.name,
                       object.uid, object.field_path, event.type);
}

template <class T>
T& entry_of(LruMap<T>& known, const std::string& key) {
    T* found = known.find(key);
    return found ? *found : known.put(key, T());
}

}  // namespace

EventRecorder::EventRecorder(EventLoop& loop, Client& client, Logger log, std::string component, std::string host)
    : loop_(loop),
      client_(client),
      log_(std::move(log)),
      component_(std::move(component)),
      host_(std::move(host)),
      budgets_(Remembered),
      similar_(Remembered),
      written_(Remembered) {}

bool EventRecorder::within_budget(const std::string& key) {
    Budget& budget = entry_of(budgets_, key);
    if (budget.known) {
        const double passed = std::chrono::duration<double>(loop_.now() - budget.refilled).count();
        budget.tokens = std::min(BurstPerObject, budget.tokens + passed * RefillPerSecond);
    }
    budget.known = true;
    budget.refilled = loop_.now();
    if (budget.tokens < 1) return false;
    budget.tokens -= 1;
    return true;
}

/// True when so many different messages have come lately that this one goes into the combined event.
bool EventRecorder::combine(const std::string& key, const std::string& message) {
    Similar& similar = entry_of(similar_, key);
    if (loop_.now() - similar.last > SimilarInterval) similar.messages.clear();
    similar.last = loop_.now();
    const std::size_t hash = std::hash<std::string>()(message);
    const bool is_new = std::ranges::find(similar.messages, hash) == similar.messages.end();
    if (is_new && similar.messages.size() < SimilarAllowed) similar.messages.push_back(hash);
    return similar.messages.size() >= SimilarAllowed;
}

void EventRecorder::record(const ObjectReference& object, std::string type, std::string reason, std::string message,
                           std::map<std::string, std::string> annotations) {
    Event event;
    const SystemTime now = loop_.wall_now();
    event.involved_object = object;
    event.type = std::move(type);
    event.reason = std::move(reason);
    if (message.size() > LongestMessage) message.resize(LongestMessage);
    event.message = std::move(message);
    event.source.component = component_;
    event.source.host = host_;
    event.reporting_component = component_;
    event.reporting_instance = host_;
    event.first_timestamp = event.last_timestamp = Timestamp(now);
    event.count = 1;
    event.metadata.namespace_ = object.namespace_.empty() ? "default" : object.namespace_;
    last_stamp_ = std::max<std::int64_t>(last_stamp_ + 1, now.time_since_epoch().count());
    event.metadata.name = fmt::format("{}.{:x}", object.name, last_stamp_);
    event.metadata.annotations = std::move(annotations);

    if (combine(identity(event) + "/" + event.reason, event.message)) event.message = "(combined from similar events): " + event.message;
    if (!within_budget(identity(event)) || pending_.size() >= LongestBacklog) return;
    pending_.push(std::move(event));
}

Task<> EventRecorder::run() {
    for (;;) {
        CO_TRY(std::optional<Event> event, co_await pending_.next());
        if (!event) co_return {};
        CO_TRY_VOID(co_await pace());
        CO_TRY_VOID(co_await write(std::move(*event)));
    }
}

Task<> EventRecorder::pace() {
    using Seconds = std::chrono::duration<double>;
    if (rate_ <= 0) co_return {};
    for (;;) {
        const double passed = Seconds(loop_.now() - refilled_).count();
        tokens_ = std::min(burst_, tokens_ + passed * rate_);
        refilled_ = loop_.now();
        if (tokens_ >= 1) break;
        CO_TRY_VOID(co_await loop_.sleep(std::chrono::ceil<std::chrono::milliseconds>(Seconds((1 - tokens_) / rate_))));
    }
    tokens_ -= 1;
    co_return {};
}

Task<> EventRecorder::write(Event event) {
    const bool combined = event.message.starts_with("(combined from similar events)");
    const std::string key = identity(event) + "/" + event.reason + "/" + (combined ? "combined" : event.message);
    for (int attempt = 1; attempt <= Attempts; ++attempt) {
        Result<void> written = co_await create_or_count(event, key);
        if (written) co_return {};
        const Error& error = written.error();
        if (is_cancelled(error)) co_return cancelled_error();
        if (error.reason != Reason::Unavailable && error.reason != Reason::TooManyRequests && error.reason != Reason::ServiceUnavailable) {
            log_.debug("event refused", {{"reason", event.reason}, {"object", event.involved_object.name}, {"error", error.message}});
            co_return {};
        }
        CO_TRY_VOID(co_await loop_.sleep(BetweenAttempts));
    }
    co_return {};
}

Task<> EventRecorder::create_or_count(const Event& event, const std::string& key) {
    Written known = entry_of(written_, key);
    if (known.count > 0) {
        const schema::Value change = schema::Value::object(
            {{"count", known.count + 1}, {"lastTimestamp", event.last_timestamp.to_string()}, {"message", event.message}});
        Result<Event> counted = co_await client_.patch<Event>(known.event, PatchType::Merge, schema::to_json(change));
        if (counted) {
            entry_of(written_, key) = {known.event, known.count + 1};
            co_return {};
        }
        if (!is_not_found(counted)) co_return std::move(counted).error();
    }
    CO_TRY(const Event created, co_await client_.create(event));
    entry_of(written_, key) = {key_of(created), 1};
    co_return {};
}

}  // namespace porthole::client
