#include "simulation/three_servers/world.h"

#include "base/result.h"
#include "net/tls/x509.h"

namespace porthole::simulation {

using namespace std::chrono_literals;

World::World(Options options)
    : options_(options),
      random_(options.seed),
      etcd_(loop_, options.members, 1),
      audit_(etcd_, loop_),
      addresses_(options.servers),
      any_(*this, {}) {
    const std::string account_key = net::PrivateKey::generate().pem();
    for (std::size_t i = 0; i < options.servers; ++i) {
        servers_.push_back(
            std::make_unique<SimServer>(SimServer::Setting{loop_, etcd_, account_key, make_null_sink(),
                                                           [this, i](client::Transport* transport) { listens(i, transport); }},
                                        i, random_.next()));
        of_server_.push_back(std::make_unique<Visitor>(*this, i));
    }
    for (std::size_t i = 0; i < options.nodes; ++i) nodes_.push_back(std::make_unique<SimNode>(loop_, addresses_, i, random_.next()));
    for (const auto& server : servers_) server->start();
    for (const auto& node : nodes_) node->start();
}

World::~World() {
    heal();
    CHECK(run(scope_.close()).has_value());
    for (const auto& node : nodes_) node->kill();
    for (const auto& node : nodes_) CHECK(run(node->close()).has_value());
    for (ApiLink* link : client_links()) CHECK(run(link->close()).has_value());
    for (const auto& server : servers_) server->stop();
    CHECK(run(etcd_.close()).has_value());
    loop_.run_ready();
}

void World::listens(std::size_t server, client::Transport* transport) {
    addresses_[server] = transport;
    if (transport) return;
    for (ApiLink* link : client_links()) link->cut(server);
    for (const auto& node : nodes_) node->link().cut(server);
}

std::vector<ApiLink*> World::client_links() {
    std::vector<ApiLink*> links{&any_.link};
    for (const auto& visitor : of_server_) links.push_back(&visitor->link);
    return links;
}

SimServer& World::leader_of(const std::string& component) {
    for (const auto& server : servers_)
        if (server->leads(component)) return *server;
    return any_server();
}

World::Undo World::repeat(Duration period, std::function<void()> action) {
    static constexpr auto work = [](EventLoop& loop, Duration period, std::function<void()> action, std::shared_ptr<bool> ended) -> Task<> {
        while (!*ended) {
            action();
            CO_TRY_VOID(co_await loop.sleep(period));
        }
        co_return {};
    };
    const auto ended = std::make_shared<bool>(false);
    scope_.spawn(work(loop_, period, std::move(action), ended));
    return [ended] { *ended = true; };
}

void World::heal() {
    for (std::size_t member = 0; member < options_.members; ++member) {
        etcd_.start(member);
        etcd_.lose_leader(member, false);
    }
    etcd_.exceed_space(false);
    etcd_.hold_watches(false);
    etcd_.stall_dials(false);
    etcd_.fragment_at(1000);
    etcd_.limit_pages(0);
    etcd_.break_next_txn(store::etcd::EtcdModel::Break::None);
    etcd_.before_call = {};
    etcd_.before_range = {};
    etcd_.before_txn = {};
    for (ApiLink* link : client_links()) link->heal();
    for (const auto& server : servers_) {
        server->loop().set_wall_offset({});
        server->loop().resume();
        server->etcd().heal();
        if (!server->running()) server->start();
    }
    for (const auto& node : nodes_) {
        node->loop().set_wall_offset({});
        node->loop().resume();
        node->link().heal();
        if (!node->running()) node->start();
    }
}

std::size_t World::met() {
    std::size_t met = met_ + etcd_.met;
    for (ApiLink* link : client_links()) met += link->met();
    for (const auto& server : servers_) met += server->met();
    for (const auto& node : nodes_) met += node->met();
    return met;
}

std::string World::not_ready() const {
    for (const auto& server : servers_)
        if (!server->ready()) return "server " + server->address() + " is not ready";
    return "";
}

}  // namespace porthole::simulation
