#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "apiserver/audit/auditor.h"
#include "base/log.h"
#include "runtime/random.h"
#include "runtime/scope.h"

namespace porthole::apiserver {

/// Sends events to a service in batches, as upstream's webhook back end does: POST of an audit.k8s.io/v1 EventList. Lives on the loop.
///
/// Events wait in a buffer until there are enough for a batch or the oldest has waited long enough; when the buffer is full, further ones
/// are lost ("buffered"). One batch is sent at a time. A batch that is not answered with 2xx is sent again, five times in total and each
/// time after a longer pause; then it is lost ("webhook").
class AuditWebhook final : public AuditBackend {
public:
    struct Options {
        std::size_t buffer_size = 10'000;  ///< events
        std::size_t batch_max_size = 400;  ///< events
        Duration batch_max_wait = std::chrono::seconds(30);
        Duration initial_backoff = std::chrono::seconds(10);
    };
    /// Differs from Kubernetes: the buffer is also limited in bytes, since events may contain whole objects. Events being sent count.
    static constexpr std::size_t MostBytes = 16 << 20;

    /// Sends a body and yields the HTTP code. Error: Unavailable.
    using Post = std::function<Task<int>(std::string body)>;
    struct Seams {
        EventLoop& loop;
        Random& random;
        Logger log;
        Post post;
    };
    AuditWebhook(Seams seams, Options options);

    void add(const std::string& event) override;
    std::vector<Lost> lost() const override { return {{"buffered", dropped_}, {"webhook", failed_}}; }
    /// Sends the buffer and the interrupted batch, once and for at most `limit`; what is not accepted is lost. Nothing is added afterwards.
    Task<> close(Duration limit = std::chrono::seconds(5));

private:
    Task<> send_batches();
    Task<> wait_for_batch();
    struct Batch {
        std::string text;
        std::size_t events = 0, bytes = 0;
    };
    bool fills_a_batch() const;
    /// Removes the oldest events from the buffer.
    Batch next_batch();
    Task<> deliver(const std::string& batch);
    Task<> deliver_once(std::string batch);
    Task<> flush();

    Seams seams_;
    const Options options_;
    std::deque<std::string> waiting_;
    std::optional<Batch> interrupted_;  ///< being sent when close() was called
    std::size_t bytes_ = 0;             ///< in the buffer and being sent
    std::uint64_t dropped_ = 0, failed_ = 0;
    bool losing_ = false;  ///< events were lost since the last one that was accepted
    Event arrived_, full_;
    Scope scope_;
};

}  // namespace porthole::apiserver
