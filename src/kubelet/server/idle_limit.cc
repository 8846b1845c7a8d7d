#include "kubelet/server/idle_limit.h"

namespace porthole::kubelet {

/// Outlives the stream: a read or write in progress ends after the stream's owner has destroyed it.
struct IdleLimit::Activity {
    EventLoop& loop;
    MonotonicTime last;
    net::ByteStream* stream;  ///< until its owner destroys it
};

class IdleLimit::Watched final : public net::ByteStream {
public:
    Watched(std::shared_ptr<Activity> activity, std::unique_ptr<net::ByteStream> stream)
        : activity_(std::move(activity)), stream_(std::move(stream)) {
        activity_->stream = this;
    }
    ~Watched() override { activity_->stream = nullptr; }

    Task<std::size_t> read(std::span<char> buffer) override { return noted(activity_, stream_->read(buffer)); }
    Task<> write(std::string_view bytes) override { return noted(activity_, stream_->write(bytes)); }
    Task<> end_writing() override { return stream_->end_writing(); }
    void close() override { stream_->close(); }

private:
    template <typename T>
    static Task<T> noted(std::shared_ptr<Activity> activity, Task<T> transfer) {
        auto done = co_await std::move(transfer);
        activity->last = activity->loop.now();
        co_return done;
    }

    std::shared_ptr<Activity> activity_;
    std::unique_ptr<net::ByteStream> stream_;
};

Task<std::unique_ptr<net::ByteStream>> IdleLimit::upgrade(net::Headers headers) {
    CO_TRY(auto stream, co_await responder_.upgrade(std::move(headers)));
    const auto activity = std::make_shared<Activity>(loop_, loop_.now(), nullptr);
    auto watched = std::make_unique<Watched>(activity, std::move(stream));
    watching_.spawn(watch(activity, limit_));
    co_return watched;
}

Task<> IdleLimit::watch(std::shared_ptr<Activity> activity, Duration limit) {
    EventLoop& loop = activity->loop;
    while (activity->stream && loop.now() - activity->last < limit) CO_TRY_VOID(co_await loop.sleep(activity->last + limit - loop.now()));
    if (activity->stream) activity->stream->close();
    co_return {};
}

}  // namespace porthole::kubelet
