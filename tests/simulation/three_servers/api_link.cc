#include "simulation/three_servers/api_link.h"

#include "base/result.h"

namespace porthole::simulation {

namespace {
Error refused() { return Error(Reason::Unavailable, "connection refused"); }
Error reset() { return Error(Reason::Unavailable, "connection reset"); }
}  // namespace

/// A request under way.
struct ApiLink::Call {
    std::size_t server = 0;
    Event broken, done;
};

/// A watch, read by a task of its own, so that one of a server that stands still can be given up.
struct ApiLink::Flow {
    std::size_t server = 0;
    std::unique_ptr<client::ApiStream> stream;
    Channel<net::Bytes> events;
    bool broken = false, unwanted = false;
    std::optional<TaskContext> pump;

    void stop() {
        events.close();
        if (pump) pump->cancel();
    }
};

class ApiLink::Stream final : public client::ApiStream {
public:
    explicit Stream(std::shared_ptr<Flow> flow) : flow_(std::move(flow)) {}
    ~Stream() override { flow_->stop(); }
    Task<std::optional<net::Bytes>> next() override { return next_of(flow_); }

private:
    static Task<std::optional<net::Bytes>> next_of(std::shared_ptr<Flow> flow) {
        if (flow->broken) co_return reset();
        CO_TRY(auto event, co_await flow->events.next());
        if (flow->broken) co_return reset();
        co_return event;
    }
    std::shared_ptr<Flow> flow_;
};

ApiLink::ApiLink(sim::SimLoop& loop, Random& random, const Addresses& addresses, std::optional<std::size_t> only)
    : loop_(loop),
      random_(random),
      addresses_(addresses),
      stays_(only.has_value()),
      current_(only.value_or(random.below(addresses.size()))),
      scope_(loop) {}

Task<> ApiLink::travel() {
    if (faults_.jitter != Faults().jitter) ++met_;
    return loop_.sleep(faults_.delay + faults_.jitter * static_cast<int>(random_.below(100)) / 100);
}

Task<> ApiLink::wait() {
    ++met_;
    return changes_.wait();
}

void ApiLink::move_on(std::size_t server) {
    if (!stays_ && current_ == server) current_ = (current_ + 1) % addresses_.size();
}

/// The far end's part runs in this link's scope: it may outlast the caller, as what a server does for a client that has gone.
template <class T>
Task<T> ApiLink::exchange(client::ApiRequest request, Task<T> (ApiLink::*far)(std::size_t, client::ApiRequest)) {
    static constexpr auto carry = [](std::shared_ptr<Call> call, std::shared_ptr<std::optional<Result<T>>> answer, Task<T> task) -> Task<> {
        Result<T> result = co_await std::move(task);
        if (!call->broken.is_set()) answer->emplace(std::move(result));
        call->done.set();
        co_return {};
    };
    const std::size_t server = current_;
    if (faults_.refuses || !addresses_[server]) {
        met_ += faults_.refuses;
        CO_TRY_VOID(co_await travel());
        move_on(server);
        co_return refused();
    }
    const auto call = std::make_shared<Call>();
    call->server = server;
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    calls_.push_back(call);
    scope_.spawn(carry(call, answer, (this->*far)(server, std::move(request))));
    const Result<void> ended = co_await with_timeout(call->done.wait(), AnswerTime, "the answer of the server");
    std::erase(calls_, call);
    if (is_cancelled(ended)) co_return ended.error();
    if (!ended || !*answer) move_on(server);
    if (!ended) co_return ended.error();
    if (!*answer) co_return reset();
    co_return std::move(**answer);
}

Task<client::ApiResponse> ApiLink::call(client::ApiRequest request) { return exchange(std::move(request), &ApiLink::call_far); }

Task<client::ApiResponse> ApiLink::call_far(std::size_t server, client::ApiRequest request) {
    CO_TRY_VOID(co_await travel());
    while (faults_.loses_requests) CO_TRY_VOID(co_await wait());
    if (!addresses_[server]) co_return refused();
    Result<client::ApiResponse> response = co_await addresses_[server]->call(std::move(request));
    if (is_cancelled(response)) co_return reset();  // the server's end, not the caller's
    CO_TRY_VOID(co_await travel());
    while (faults_.loses_answers) CO_TRY_VOID(co_await wait());
    co_return response;
}

Task<std::unique_ptr<client::ApiStream>> ApiLink::watch(client::ApiRequest request) {
    return exchange(std::move(request), &ApiLink::watch_far);
}

Task<std::unique_ptr<client::ApiStream>> ApiLink::watch_far(std::size_t server, client::ApiRequest request) {
    CO_TRY_VOID(co_await travel());
    while (faults_.loses_requests) CO_TRY_VOID(co_await wait());
    if (!addresses_[server]) co_return refused();
    auto stream = co_await addresses_[server]->watch(std::move(request));
    if (is_cancelled(stream)) co_return reset();
    CO_TRY(stream, std::move(stream));
    const auto flow = std::make_shared<Flow>();
    flow->server = server;
    flow->stream = std::move(*stream);
    flow->pump.emplace(loop_);
    flows_.push_back(flow);
    start_task(pump(flow), *flow->pump, [this, flow](Result<void>) {
        flow->events.close();
        loop_.post([this, flow] {
            flow->stream.reset();
            std::erase(flows_, flow);
            changed();
        });
    });
    co_return std::make_unique<Stream>(flow);
}

Task<> ApiLink::pump(std::shared_ptr<Flow> flow) {
    for (;;) {
        const auto event = co_await flow->stream->next();
        if (!event) flow->broken = true;
        if (!event || !*event) co_return {};
        while (faults_.holds_watches || faults_.loses_answers) CO_TRY_VOID(co_await wait());
        CO_TRY_VOID(co_await travel());
        flow->events.push(**event);
    }
}

void ApiLink::heal() {
    faults_ = {};
    changed();
}

void ApiLink::cut(std::optional<std::size_t> server) {
    for (const auto& call : calls_) {
        if (server && call->server != *server) continue;
        ++met_;
        call->broken.set();
        call->done.set();
    }
    for (const auto& flow : flows_) {
        if (server && flow->server != *server) continue;
        ++met_;
        flow->broken = true;
        flow->stop();
    }
}

Task<> ApiLink::close() {
    cut();
    while (!flows_.empty()) CO_TRY_VOID(co_await changes_.wait());
    co_return co_await scope_.close();
}

}  // namespace porthole::simulation
