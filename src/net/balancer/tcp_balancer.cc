#include "net/balancer/tcp_balancer.h"

#include <algorithm>
#include <map>

#include "base/result.h"
#include "net/http/relay.h"

namespace porthole::net {
namespace {

constexpr Duration LeastPeriod = std::chrono::milliseconds(200);  ///< clients that break off do not cause more probes than this

bool lives(const BalancedServer& server) { return server.health == ServerHealth::Ready || server.health == ServerHealth::NotReady; }

bool is_lost(ServerHealth health) { return health == ServerHealth::Failing || health == ServerHealth::Dead; }

/// The lower, the sooner it is tried.
int rank(const BalancedServer& server, bool refused) {
    if (server.health == ServerHealth::Dead || refused) return server.listed ? 5 : 6;
    if (server.health == ServerHealth::Failing) return 4;
    if (!server.listed) return 3;
    return server.health == ServerHealth::Ready ? 0 : server.health == ServerHealth::Unknown ? 1 : 2;
}

}  // namespace

const char* to_text(ServerHealth health) {
    switch (health) {
        case ServerHealth::Ready:
            return "ready";
        case ServerHealth::NotReady:
            return "not ready";
        case ServerHealth::Failing:
            return "failing";
        case ServerHealth::Dead:
            return "dead";
        case ServerHealth::Unknown:
            break;
    }
    return "unknown";
}

/// A connection to a server: whatever it says is a sign of life.
class TcpBalancer::Heard final : public ByteStream {
public:
    Heard(std::unique_ptr<ByteStream> lower, ServerPtr server, EventLoop& loop)
        : lower_(std::move(lower)), server_(std::move(server)), loop_(loop) {}
    Task<std::size_t> read(std::span<char> buffer) override {
        CO_TRY(const std::size_t count, co_await lower_->read(buffer));
        if (count > 0) server_->heard = loop_.now();
        co_return count;
    }
    Task<> write(std::string_view bytes) override { return lower_->write(bytes); }
    Task<> end_writing() override { return lower_->end_writing(); }
    void close() override { lower_->close(); }

private:
    std::unique_ptr<ByteStream> lower_;
    ServerPtr server_;
    EventLoop& loop_;
};

TcpBalancer::ServerPtr TcpBalancer::find(const std::string& name) const {
    const auto found = std::ranges::find_if(servers_, [&](const ServerPtr& server) { return server->known.name == name; });
    return found == servers_.end() ? nullptr : *found;
}

void TcpBalancer::add(const std::string& name) {
    auto server = std::make_shared<Server>();
    server->known.name = name;
    servers_.insert(servers_.begin() + static_cast<std::ptrdiff_t>(seams_.random.below(servers_.size() + 1)), server);
    probes_.spawn(watch(std::move(server)));
}

void TcpBalancer::set_servers(const std::vector<std::string>& listed, const std::vector<std::string>& reserve) {
    if (listed.empty() && std::ranges::any_of(servers_, [](const ServerPtr& server) { return server->known.listed; })) return;
    for (const auto* names : {&listed, &reserve})
        for (const std::string& name : *names)
            if (!find(name)) add(name);
    for (const ServerPtr& server : servers_) {
        BalancedServer& known = server->known;
        const bool is_listed = std::ranges::find(listed, known.name) != listed.end();
        if (known.listed && !is_listed) server->unlisted_at = seams_.loop.now();
        known.listed = is_listed;
        known.reserve = std::ranges::find(reserve, known.name) != reserve.end();
    }
    settle();
}

std::vector<BalancedServer> TcpBalancer::servers() const {
    std::vector<BalancedServer> known;
    for (const ServerPtr& server : servers_) known.push_back(server->known);
    return known;
}

std::vector<TcpBalancer::ServerPtr> TcpBalancer::in_order() const {
    std::multimap<std::pair<int, bool>, ServerPtr> order;  // equal ones stay in the order of servers_
    for (const ServerPtr& server : servers_) order.emplace(std::pair(rank(server->known, server->refused), !server->known.in_use), server);
    std::vector<ServerPtr> sorted;
    for (const auto& [key, server] : order) sorted.push_back(server);
    return sorted;
}

Task<TcpBalancer::ServerPtr> TcpBalancer::dial_any(std::unique_ptr<ByteStream>& stream) {
    Error last(Reason::Unavailable, "no server is known");
    for (const ServerPtr& server : in_order()) {
        auto dialed = co_await with_timeout(seams_.dial(server->known.name), times_.connect, "connect to a server");
        if (is_cancelled(dialed)) co_return std::move(dialed).error();
        if (server->forgotten) continue;  // meanwhile; no one would probe it, or cut its connections
        if (dialed) {
            stream = *std::move(dialed);
            co_return server;
        }
        last = std::move(dialed).error();
        server->refused = true;
        server->wake.set();
        settle();
    }
    co_return Error(Reason::Unavailable, last.message);
}

Task<> TcpBalancer::serve(std::unique_ptr<ByteStream> client) {
    std::unique_ptr<ByteStream> dialed;
    CO_TRY(const ServerPtr server, co_await dial_any(dialed));
    Heard stream(std::move(dialed), server, seams_.loop);
    const auto place = server->connections.insert(server->connections.end(), Connection{*client, stream});
    settle();
    const auto ended = co_await relay(seams_.loop, *client, stream);
    server->connections.erase(place);
    // Often the first sign that the server is gone.
    if (!ended && !is_cancelled(ended)) server->wake.set();
    settle();
    co_return ended;
}

Task<> TcpBalancer::watch(ServerPtr server) {
    while (!server->forgotten) {
        server->wake.reset();
        CO_TRY_VOID(co_await probe(server));
        settle();
        CO_TRY_VOID(co_await seams_.loop.sleep(LeastPeriod));
        const auto woken = co_await with_timeout(server->wake.wait(), period(*server), "the next probe");
        if (is_cancelled(woken)) co_return woken.error();
    }
    co_return {};
}

Duration TcpBalancer::period(const Server& server) const {
    const auto is_ready = [](const ServerPtr& other) { return other->known.health == ServerHealth::Ready; };
    if (server.known.health == ServerHealth::Failing && !server.connections.empty() && std::ranges::any_of(servers_, is_ready))
        return times_.confirm;
    return server.known.in_use || !server.connections.empty() ? times_.period_in_use : times_.period_idle;
}

/// A server that is too busy to answer, but sends what clients have asked for, is not dead.
Task<> TcpBalancer::probe(ServerPtr server) {
    const MonotonicTime begin = seams_.loop.now();
    const auto answer = co_await with_timeout(seams_.probe(server->known.name), times_.answer, "probe of a server");
    if (is_cancelled(answer)) co_return answer.error();
    const bool silent = !answer && answer.error().reason == Reason::Timeout;
    ServerHealth& health = server->known.health;
    const ServerHealth before = health;
    if (answer) {
        health = *answer;
    } else if (!silent || server->heard <= begin) {
        health = ServerHealth::Dead;
    }
    server->refused = false;
    if (answer) server->answered = seams_.loop.now();
    if (health == before) co_return {};
    note_change(*server, before, answer ? "it says that it can do nothing for its clients" : answer.error().message);
    co_return {};
}

/// What is known of the others may be as old as their period.
void TcpBalancer::note_change(Server& server, ServerHealth before, const std::string& why) {
    const ServerHealth health = server.known.health;
    if (is_lost(health)) {
        seams_.log.warn("a server is lost", {{"server", server.known.name}, {"error", why}});
        server.lost = seams_.loop.now();
    } else if (is_lost(before)) {
        seams_.log.info("a server answers again", {{"server", server.known.name}});
    }
    if (health == ServerHealth::Ready) server.ready = seams_.loop.now();
    for (const ServerPtr& other : servers_) {
        const bool may_be_left = health == ServerHealth::Ready && other->known.health == ServerHealth::Failing;
        if (other.get() != &server && (is_lost(health) || may_be_left)) other->wake.set();
    }
}

void TcpBalancer::cut(Server& server, const char* why) {
    if (server.connections.empty()) return;
    seams_.log.info("connections are cut", {{"server", server.known.name}, {"connections", server.connections.size()}, {"why", why}});
    for (Connection& connection : server.connections) {
        connection.client.close();
        connection.server.close();
    }
    // Their tasks end at later turns and take themselves off the list, which is closed twice at worst.
}

bool TcpBalancer::is_to_be_cut(const Server& server) const {
    const ServerHealth health = server.known.health;
    const auto is_better = [&](const ServerPtr& other) {
        if (other->answered < server.lost) return false;  // what is known of it is older
        if (health == ServerHealth::Dead) return other->known.health != ServerHealth::Dead;
        const MonotonicTime both_known = std::max(other->ready, server.lost);
        return other->known.health == ServerHealth::Ready && server.answered >= both_known + times_.confirm;
    };
    return is_lost(health) && std::ranges::any_of(servers_, is_better);
}

void TcpBalancer::settle() {
    const auto listed_lives = [](const ServerPtr& server) { return server->known.listed && lives(server->known); };
    const bool drains = std::ranges::any_of(servers_, listed_lives);
    for (const ServerPtr& server : servers_)
        if (is_to_be_cut(*server)) cut(*server, server->known.health == ServerHealth::Dead ? "it is dead" : "it fails");
    std::erase_if(servers_, [&](const ServerPtr& server) {
        const BalancedServer& known = server->known;
        const bool over = drains && !known.listed && seams_.loop.now() >= server->unlisted_at + times_.drain;
        if (over) cut(*server, "it is not a server of the cluster any more");
        server->forgotten = over && !known.reserve;
        if (server->forgotten) server->wake.set();
        return server->forgotten;
    });
    const auto order = in_order();
    for (const ServerPtr& server : order) {
        const bool first = server == order.front();
        if (first && !server->known.in_use) server->wake.set();  // it is probed more often from now on
        server->known.in_use = first;
    }
    auto now = servers();
    if (now == told_of_) return;
    told_of_ = std::move(now);
    if (told_) told_();
}

}  // namespace porthole::net
