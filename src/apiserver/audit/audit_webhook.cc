#include "apiserver/audit/audit_webhook.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::apiserver {
namespace {

// See apiserver: pkg/util/webhook/webhook.go.
constexpr int Attempts = 5;
constexpr double BackoffFactor = 1.5, Jitter = 0.2;
constexpr Duration SendLimit = std::chrono::seconds(30);
constexpr std::size_t BatchBytes = 1 << 20;  ///< a batch is sent as soon as it has as many, or the events that it may have

}  // namespace

AuditWebhook::AuditWebhook(Seams seams, Options options)
    : seams_(std::move(seams)),
      options_(options),
      scope_(seams_.loop, [this](const Error& error) { seams_.log.error("the audit webhook ended", {{"error", error.message}}); }) {
    scope_.spawn(send_batches());
}

void AuditWebhook::add(const std::string& event) {
    if (waiting_.size() >= options_.buffer_size || bytes_ + event.size() > MostBytes) {
        ++dropped_;
        if (!std::exchange(losing_, true)) seams_.log.error("audit events are lost: the webhook is too slow");
        return;
    }
    losing_ = false;
    bytes_ += event.size();
    waiting_.push_back(event);
    arrived_.set();
    if (fills_a_batch()) full_.set();
}

bool AuditWebhook::fills_a_batch() const { return waiting_.size() >= options_.batch_max_size || bytes_ >= BatchBytes; }

Task<> AuditWebhook::wait_for_batch() {
    if (waiting_.empty()) {
        arrived_.reset();
        CO_TRY_VOID(co_await arrived_.wait());
    }
    if (fills_a_batch()) co_return {};
    full_.reset();
    const Result<void> full = co_await with_timeout(full_.wait(), options_.batch_max_wait, "waiting for a batch");
    if (!full && full.error().reason != Reason::Timeout) co_return full.error();
    co_return {};
}

AuditWebhook::Batch AuditWebhook::next_batch() {
    Batch batch{.text = R"({"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[)"};
    for (; !waiting_.empty() && batch.events < options_.batch_max_size && batch.bytes < BatchBytes; ++batch.events) {
        if (batch.events > 0) batch.text += ',';
        batch.text += waiting_.front();
        batch.bytes += waiting_.front().size();
        waiting_.pop_front();
    }
    batch.text += "]}";
    return batch;
}

Task<> AuditWebhook::deliver_once(std::string batch) {
    CO_TRY(const int code, co_await with_timeout(seams_.post(std::move(batch)), SendLimit, "sending audit events"));
    if (code / 100 != 2) co_return Error(Reason::Unavailable, "the webhook answers " + std::to_string(code));
    co_return {};
}

Task<> AuditWebhook::deliver(const std::string& batch) {
    Duration pause = options_.initial_backoff;
    for (int attempt = 1;; ++attempt) {
        auto sent = co_await deliver_once(batch);
        if (sent || is_cancelled(sent) || attempt == Attempts) co_return sent;
        const double jitter = 1 + Jitter * seams_.random.fraction();
        CO_TRY_VOID(co_await seams_.loop.sleep(std::chrono::duration_cast<Duration>(pause * jitter)));
        pause = std::chrono::duration_cast<Duration>(pause * BackoffFactor);
    }
}

Task<> AuditWebhook::send_batches() {
    for (;;) {
        CO_TRY_VOID(co_await wait_for_batch());
        Batch batch = next_batch();
        const auto sent = co_await deliver(batch.text);
        if (is_cancelled(sent)) {
            interrupted_ = std::move(batch);
            co_return sent.error();
        }
        bytes_ -= batch.bytes;
        if (sent) continue;
        failed_ += batch.events;
        seams_.log.error("audit events are lost: the webhook does not take them",
                         {{"events", batch.events}, {"error", sent.error().message}});
    }
}

Task<> AuditWebhook::flush() {
    while (interrupted_ || !waiting_.empty()) {
        // It may have arrived: an event twice is better than none.
        Batch batch = interrupted_ ? *std::exchange(interrupted_, std::nullopt) : next_batch();
        const auto sent = co_await deliver_once(std::move(batch.text));
        bytes_ -= batch.bytes;
        if (sent) continue;
        failed_ += batch.events;
        co_return sent.error();
    }
    co_return {};
}

Task<> AuditWebhook::close(Duration limit) {
    CO_TRY_VOID(co_await scope_.close());
    const auto flushed = co_await with_timeout(flush(), limit, "sending the last audit events");
    if (!flushed) seams_.log.warn("the last audit events are lost", {{"error", flushed.error().message}});
    co_return {};
}

}  // namespace porthole::apiserver
