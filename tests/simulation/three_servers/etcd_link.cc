#include "simulation/three_servers/etcd_link.h"

#include <algorithm>

#include "base/result.h"
#include "runtime/sync.h"

namespace porthole::simulation {

namespace {
Error broken() { return Error(Reason::Unavailable, "connection reset"); }
}  // namespace

struct EtcdLink::State {
    /// One connection.
    struct Pipe {
        std::unique_ptr<net::ByteStream> etcd;
        std::size_t sent = 0;
        bool closed = false;
    };

    State(EventLoop& loop, Random& random) : loop(loop), random(random) {}

    Task<> travel() {
        if (faults.delay != Faults().delay || faults.jitter != Faults().jitter) ++met;
        const Duration time = faults.delay + faults.jitter * static_cast<int>(random.below(100)) / 100;
        return loop.sleep(time);
    }
    void close(Pipe& pipe) {
        if (std::exchange(pipe.closed, true)) return;
        pipe.etcd->close();
        changes.wake_all({});
    }

    EventLoop& loop;
    Random& random;
    /// Something waits while a fault holds it.
    Task<> wait() {
        ++met;
        return changes.wait();
    }

    Faults faults;
    std::size_t met = 0;
    WaitList<void> changes;
    std::vector<std::weak_ptr<Pipe>> pipes;
};

class EtcdLink::Stream final : public net::ByteStream {
    using StatePtr = std::shared_ptr<State>;
    using PipePtr = std::shared_ptr<State::Pipe>;

public:
    Stream(StatePtr state, PipePtr pipe) : state_(std::move(state)), pipe_(std::move(pipe)) {}
    ~Stream() override { state_->close(*pipe_); }

    Task<std::size_t> read(std::span<char> buffer) override { return read_from(state_, pipe_, buffer); }
    Task<> write(std::string_view bytes) override { return write_to(state_, pipe_, bytes); }
    Task<> end_writing() override { return pipe_->etcd->end_writing(); }
    void close() override { state_->close(*pipe_); }

private:
    static Task<std::size_t> read_from(StatePtr state, PipePtr pipe, std::span<char> buffer) {
        CO_TRY(const std::size_t count, co_await pipe->etcd->read(buffer.first(std::min(buffer.size(), state->faults.segment))));
        CO_TRY_VOID(co_await state->travel());
        if (state->faults.segment != Faults().segment) ++state->met;
        while (state->faults.loses_answers && !pipe->closed) CO_TRY_VOID(co_await state->wait());
        if (pipe->closed) co_return broken();
        co_return count;
    }
    static Task<> write_to(StatePtr state, PipePtr pipe, std::string_view bytes) {
        CO_TRY_VOID(co_await state->travel());
        while (state->faults.loses_requests && !pipe->closed) CO_TRY_VOID(co_await state->wait());
        if (pipe->closed) co_return broken();
        const auto limit = state->faults.breaks_after;
        const bool breaks = limit && pipe->sent + bytes.size() > *limit;
        if (breaks) bytes = bytes.substr(0, *limit > pipe->sent ? *limit - pipe->sent : 0);
        if (breaks && !bytes.empty()) ++state->met;
        pipe->sent += bytes.size();
        CO_TRY_VOID(co_await pipe->etcd->write(bytes));
        if (breaks) state->close(*pipe);
        if (pipe->closed) co_return broken();
        co_return {};
    }

    StatePtr state_;
    PipePtr pipe_;
};

EtcdLink::EtcdLink(EventLoop& loop, Random& random) : state_(std::make_shared<State>(loop, random)) {}
EtcdLink::~EtcdLink() = default;

std::vector<store::etcd::Member> EtcdLink::through(std::vector<store::etcd::Member> members) {
    static constexpr auto dial = [](std::shared_ptr<State> state, net::GrpcDial far) -> Task<std::unique_ptr<net::ByteStream>> {
        while (state->faults.stalls_dials) CO_TRY_VOID(co_await state->wait());
        CO_TRY_VOID(co_await state->travel());
        if (state->faults.refuses_dials) ++state->met;
        if (state->faults.refuses_dials) co_return Error(Reason::Unavailable, "connection refused");
        CO_TRY(auto stream, co_await far());
        const auto pipe = std::make_shared<State::Pipe>();
        pipe->etcd = std::move(stream);
        std::erase_if(state->pipes, [](const auto& known) { return known.expired(); });
        state->pipes.push_back(pipe);
        co_return std::make_unique<Stream>(state, pipe);
    };
    for (store::etcd::Member& member : members) member.dial = [state = state_, far = std::move(member.dial)] { return dial(state, far); };
    return members;
}

EtcdLink::Faults& EtcdLink::faults() { return state_->faults; }
std::size_t EtcdLink::met() const { return state_->met; }
void EtcdLink::changed() { state_->changes.wake_all({}); }

void EtcdLink::heal() {
    state_->faults = {};
    changed();
}

void EtcdLink::cut() {
    for (const auto& known : std::exchange(state_->pipes, {}))
        if (const auto pipe = known.lock()) ++state_->met, state_->close(*pipe);
}

}  // namespace porthole::simulation
