#include "apiserver/local_transport.h"

#include <deque>
#include <vector>

#include "client/client.h"
#include "net/child_task.h"

namespace porthole::apiserver {
namespace {

/// Server bytes on their way to a watcher before the server waits for it.
constexpr std::size_t WindowBytes = 4 << 20;

net::HttpRequest http_request(client::ApiRequest request, const std::string& agent) {
    net::HttpRequest http{.method = std::move(request.method), .path = std::move(request.path), .query = std::move(request.query)};
    http.headers.add("accept", request.accept.empty() ? "application/json" : std::move(request.accept));
    http.headers.add("user-agent", agent);
    if (!request.body.empty())
        http.headers.add("content-type", request.content_type.empty() ? "application/json" : std::move(request.content_type));
    http.body = std::move(request.body);
    return http;
}

net::Bytes joined(std::vector<net::Bytes> pieces) {
    if (pieces.size() == 1) return std::move(pieces.front());
    std::size_t size = 0;
    for (const net::Bytes& piece : pieces) size += piece->size();
    auto text = std::make_shared<std::string>();
    text->reserve(size);
    for (const net::Bytes& piece : pieces) *text += *piece;
    return text;
}

/// Of an answer that comes in pieces, such as one that an extension server sends: kept whole, so it must end.
constexpr std::size_t LargestStreamedAnswer = 64 << 20;
/// Of one watch event.
constexpr std::size_t LargestEvent = 8 << 20;

/// Keeps one whole answer.
class AnswerCollector final : public net::HttpResponder {
public:
    Task<> respond(int code, net::Headers, std::vector<net::Bytes> body) override {
        started_ = true;
        response_ = {code, joined(std::move(body))};
        co_return {};
    }
    Task<> start(int code, net::Headers) override {
        started_ = true;
        response_.code = code;
        co_return {};
    }
    Task<> write(net::Bytes chunk) override {
        if ((size_ += chunk->size()) > LargestStreamedAnswer) co_return too_long();
        pieces_.push_back(std::move(chunk));
        co_return {};
    }
    Task<> finish(net::Headers) override {
        if (!response_.body) response_.body = joined(std::move(pieces_));
        co_return {};
    }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers) override {
        co_return Error(Reason::BadRequest, "a connection inside the process cannot be upgraded");
    }
    bool started() const override { return started_; }
    Result<client::ApiResponse> take() {
        if (size_ > LargestStreamedAnswer) return too_long();
        if (!response_.body) response_.body = joined(std::move(pieces_));
        return std::move(response_);
    }

private:
    static Error too_long() {
        return Error(Reason::RequestEntityTooLarge, "the answer is longer than " + std::to_string(LargestStreamedAnswer) + " bytes");
    }

    client::ApiResponse response_;
    std::vector<net::Bytes> pieces_;
    std::size_t size_ = 0;
    bool started_ = false;
};

/// Something that runs on the server's loop for a caller on another one.
struct Job {
    explicit Job(EventLoop& server_loop) : task(server_loop) {}
    net::ChildTask task;
};

/// One call between two loops.
struct CallJob : Job {
    CallJob(EventLoop& server_loop, EventLoop& client_loop) : Job(server_loop), client_loop(client_loop) {}
    EventLoop& client_loop;
};

/// A watch between two loops. Each half is touched on its own loop only; posting moves things across.
struct WatchLink : Job {
    WatchLink(EventLoop& server, EventLoop& client) : Job(server), server_loop(server), client_loop(client) {}

    EventLoop& server_loop;
    EventLoop& client_loop;
    // The server's half.
    std::size_t outstanding = 0;
    WaitList<void> window;
    // The client's half.
    Promise<int> code;
    Channel<net::Bytes> chunks;
};

/// Sends what the server writes over a link.
class LinkResponder final : public net::HttpResponder {
public:
    explicit LinkResponder(std::shared_ptr<WatchLink> link) : link_(std::move(link)) {}

    Task<> respond(int code, net::Headers headers, std::vector<net::Bytes> body) override {
        CO_TRY_VOID(co_await start(code, std::move(headers)));
        CO_TRY_VOID(co_await write(joined(std::move(body))));
        co_return co_await finish({});
    }
    Task<> start(int code, net::Headers) override {
        started_ = true;
        link_->client_loop.post([link = link_, code] {
            if (!link->code.is_set()) link->code.set(code);
        });
        co_return {};
    }
    Task<> write(net::Bytes chunk) override {
        while (link_->outstanding > WindowBytes) CO_TRY_VOID(co_await link_->window.wait());
        link_->outstanding += chunk->size();
        link_->client_loop.post([link = link_, chunk = std::move(chunk)] { link->chunks.push(chunk); });
        co_return {};
    }
    Task<> finish(net::Headers) override {
        close();
        co_return {};
    }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers) override {
        co_return Error(Reason::BadRequest, "a connection inside the process cannot be upgraded");
    }
    bool started() const override { return started_; }
    void close() {
        link_->client_loop.post([link = link_] {
            if (!link->code.is_set()) link->code.set(Error(Reason::Unavailable, "the server is closing"));
            link->chunks.close();
        });
    }

private:
    std::shared_ptr<WatchLink> link_;
    bool started_ = false;
};

/// The client's end of a link: cuts chunks into lines, one event each.
class LinkStream final : public client::ApiStream {
public:
    explicit LinkStream(std::shared_ptr<WatchLink> link) : link_(std::move(link)) {}
    ~LinkStream() override {
        link_->server_loop.post([link = link_] { link->task.cancel(); });
    }

    Task<std::optional<net::Bytes>> next() override {
        while (lines_.empty()) {
            CO_TRY(std::optional<net::Bytes> chunk, co_await link_->chunks.next());
            if (!chunk) co_return std::optional<net::Bytes>();
            acknowledge((*chunk)->size());
            split(std::move(*chunk));
            if (partial_.size() > LargestEvent) co_return Error(Reason::RequestEntityTooLarge, "an event of the watch has no end");
        }
        net::Bytes line = std::move(lines_.front());
        lines_.pop_front();
        co_return std::optional(std::move(line));
    }

private:
    void acknowledge(std::size_t size) {
        link_->server_loop.post([link = link_, size] {
            link->outstanding -= size;
            if (!link->window.empty()) link->window.wake_first({});
        });
    }
    /// Frames are lines; a chunk may end anywhere.
    void split(net::Bytes chunk) {
        std::string_view rest = *chunk;
        if (partial_.empty() && rest.size() > 1 && rest.find('\n') + 1 == rest.size()) {
            lines_.push_back(std::move(chunk));
            return;
        }
        for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
            partial_ += rest.substr(0, end);
            if (!partial_.empty()) lines_.push_back(std::make_shared<const std::string>(std::exchange(partial_, {})));
            rest.remove_prefix(end + 1);
        }
        partial_ += rest;
    }
    std::shared_ptr<WatchLink> link_;
    std::deque<net::Bytes> lines_;
    std::string partial_;  ///< of a line whose end has not come
};

/// The loop of the task that awaits it.
class CurrentLoop final : public Operation<EventLoop*> {
    void start() override { complete(&loop()); }
    void cancel() override {}
};

}  // namespace

struct LocalTransport::Impl {
    Server& server;
    EventLoop& loop;  // the server's
    const User user;
    const std::string agent;
    const std::shared_ptr<const LeaderFence> fence;
    std::vector<std::shared_ptr<Job>> jobs = {};  // some dozens: watches, and requests in flight
    bool closed = false;

    /// On the server's loop. False when the transport has been closed.
    static bool launch(const std::shared_ptr<Impl>& self, const std::shared_ptr<Job>& job, Task<> task) {
        if (self->closed) return false;
        self->jobs.push_back(job);
        job->task.start(std::move(task), [self, job] { self->loop.post([self, job] { std::erase(self->jobs, job); }); });
        return true;
    }
    Task<client::ApiResponse> answer(net::HttpRequest request) {
        AnswerCollector collector;
        CO_TRY_VOID(co_await server.handle_component(user, std::move(request), collector, fence.get()));
        co_return collector.take();
    }
    Task<> answer_watch(net::HttpRequest request, std::shared_ptr<WatchLink> link) {
        LinkResponder responder(link);
        auto ended = co_await server.handle_component(user, std::move(request), responder, fence.get());
        responder.close();
        co_return std::move(ended);
    }

    class RemoteCall;
};

/// Carries a call over to the server's loop and its answer back. Ends only when the server's side has, even if it is cancelled.
class LocalTransport::Impl::RemoteCall final : public Operation<client::ApiResponse> {
public:
    RemoteCall(std::shared_ptr<Impl> impl, net::HttpRequest request) : impl_(std::move(impl)), request_(std::move(request)) {}

private:
    void start() override {
        job_ = std::make_shared<CallJob>(impl_->loop, loop());
        impl_->loop.post([this, impl = impl_, job = job_] {
            if (!launch(impl, job, run())) give_back(Error(Reason::Unavailable, "the server is closing"));
        });
    }
    void cancel() override {
        impl_->loop.post([job = job_] { job->task.cancel(); });
    }
    Task<> run() {
        give_back(co_await impl_->answer(std::move(request_)));
        co_return {};
    }
    /// The awaiting task, and with it this object, stays until this has been posted and run.
    void give_back(Result<client::ApiResponse> result) {
        auto carried = std::make_shared<Result<client::ApiResponse>>(std::move(result));
        job_->client_loop.post([this, carried] { complete(std::move(*carried)); });
    }

    std::shared_ptr<Impl> impl_;
    net::HttpRequest request_;
    std::shared_ptr<CallJob> job_;
};

LocalTransport::LocalTransport(Server& server, EventLoop& server_loop, User user, std::string agent,
                               std::shared_ptr<const LeaderFence> fence)
    : impl_(std::make_shared<Impl>(Impl{server, server_loop, std::move(user), std::move(agent), std::move(fence)})) {}

LocalTransport::~LocalTransport() = default;

Task<client::ApiResponse> LocalTransport::call(client::ApiRequest request) {
    net::HttpRequest http = http_request(std::move(request), impl_->agent);
    CurrentLoop current;
    CO_TRY(EventLoop* const here, co_await current);
    if (here == &impl_->loop) co_return co_await impl_->answer(std::move(http));
    Impl::RemoteCall remote(impl_, std::move(http));
    co_return co_await remote;
}

Task<std::unique_ptr<client::ApiStream>> LocalTransport::watch(client::ApiRequest request) {
    CurrentLoop current;
    CO_TRY(EventLoop* const here, co_await current);
    auto link = std::make_shared<WatchLink>(impl_->loop, *here);
    auto http = std::make_shared<net::HttpRequest>(http_request(std::move(request), impl_->agent));
    auto stream = std::make_unique<LinkStream>(link);
    impl_->loop.post([impl = impl_, link, http] {
        if (!Impl::launch(impl, link, impl->answer_watch(std::move(*http), link))) LinkResponder(link).close();
    });
    CO_TRY(const int code, co_await link->code.wait());
    if (code < 400) co_return std::unique_ptr<client::ApiStream>(std::move(stream));
    CO_TRY(const std::optional<net::Bytes> status, co_await link->chunks.next());
    co_return client::error_of_status(code, status ? std::string_view(**status) : std::string_view());
}

Task<> LocalTransport::close() {
    impl_->closed = true;
    const auto jobs = impl_->jobs;
    for (const auto& job : jobs) job->task.cancel();
    for (const auto& job : jobs) CO_TRY_VOID(co_await job->task.join());
    co_return {};
}

}  // namespace porthole::apiserver
