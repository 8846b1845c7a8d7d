#include "provision/etcd_roster.h"

#include "base/result.h"
#include "net/grpc/grpc.h"
#include "provision/etcd_certificates.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"
#include "store/etcd/client.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using EtcdClient = store::etcd::Client;

constexpr Duration HealthLimit = 3s;
constexpr std::uint16_t ClientPort = 2379;
constexpr std::string_view Scheme = "https://", PeerPort = ":2380";

std::string peer_url(const std::string& address) { return std::string(Scheme) + address + std::string(PeerPort); }

Result<std::string> address_of(const store::etcd::ClusterMember& member) {
    const std::string url = member.peer_urls.size() == 1 ? member.peer_urls.front() : "";
    if (!url.starts_with(Scheme) || !url.ends_with(PeerPort))
        return Error(Reason::Conflict, "etcd has a member that `provision` has not added, " + member.name + " at " + url +
                                           ": take it out with `etcdctl member remove`");
    return url.substr(Scheme.size(), url.size() - Scheme.size() - PeerPort.size());
}

class RealRoster final : public EtcdRoster {
public:
    RealRoster(AsioLoop& loop, std::shared_ptr<const net::TlsClientContext> tls, std::vector<std::string> addresses)
        : loop_(loop), tls_(std::move(tls)), addresses_(std::move(addresses)) {}

    Task<std::vector<EtcdMemberSeen>> members() override {
        EtcdClient client(loop_, at(addresses_));
        auto listed = co_await list(client);
        CO_TRY_VOID(co_await client.close());
        CO_TRY(std::vector<EtcdMemberSeen> members, std::move(listed));
        std::vector<Task<>> asks;
        for (EtcdMemberSeen& member : members) asks.push_back(ask(member));
        CO_TRY(const auto asked, co_await when_all(std::move(asks)));
        for (const auto& one : asked)
            if (is_cancelled(one)) co_return one.error();
        co_return std::move(members);
    }
    Task<> add_learner(std::string address) override {
        EtcdClient client(loop_, at(addresses_));
        const auto done = co_await client.add_member({.peer_urls = {peer_url(address)}, .is_learner = true});
        co_return co_await end(client, done);
    }
    Task<> promote(std::uint64_t id) override {
        EtcdClient client(loop_, at(addresses_));
        const auto done = co_await client.promote_member({.id = id});
        co_return co_await end(client, done);
    }
    Task<> remove(std::uint64_t id) override {
        EtcdClient client(loop_, at(addresses_));
        const auto done = co_await client.remove_member({.id = id});
        co_return co_await end(client, done);
    }

private:
    std::vector<store::etcd::Member> at(const std::vector<std::string>& addresses) const {
        std::vector<store::etcd::Member> members;
        for (const std::string& address : addresses) {
            const net::Endpoint endpoint{.host = address, .port = ClientPort, .unix_path = {}};
            members.push_back({.name = address, .dial = net::grpc_dial(loop_, endpoint, tls_), .scheme = "https", .authority = address});
        }
        return members;
    }
    template <class T>
    Task<> end(EtcdClient& client, const Result<T>& done) {
        CO_TRY_VOID(co_await client.close());
        co_return done ? Result<void>() : Result<void>(done.error());
    }
    /// A member of etcd 3.4 lists what it knows itself, so that something is read as well, which needs the majority.
    Task<std::vector<EtcdMemberSeen>> list(EtcdClient& client) {
        CO_TRY_VOID(co_await client.range({.key = "/porthole-provision", .count_only = true}));
        CO_TRY(const auto found, co_await client.members());
        std::vector<EtcdMemberSeen> members;
        for (const store::etcd::ClusterMember& member : found.members) {
            CO_TRY(std::string address, address_of(member));
            members.push_back({.id = member.id, .address = std::move(address), .is_learner = member.is_learner});
        }
        co_return std::move(members);
    }
    Task<> ask(EtcdMemberSeen& member) {
        EtcdClient client(loop_, at({member.address}));
        const auto status = co_await with_timeout(client.status(), HealthLimit, "asking a member of etcd");
        CO_TRY_VOID(co_await client.close());
        if (is_cancelled(status)) co_return status.error();
        member.is_healthy = status && status->leader != 0;
        member.leads = member.is_healthy && status->leader == status->header.member_id;
        co_return {};
    }

    AsioLoop& loop_;
    const std::shared_ptr<const net::TlsClientContext> tls_;
    const std::vector<std::string> addresses_;
};

}  // namespace

ConnectEtcd connect_etcd(AsioLoop& loop) {
    return [&loop](const net::CertificateAuthority& authority, std::vector<std::string> addresses) -> Result<std::unique_ptr<EtcdRoster>> {
        TRY(auto tls, etcd_client_of_run(authority, loop.wall_now()));
        return std::unique_ptr<EtcdRoster>(std::make_unique<RealRoster>(loop, std::move(tls), std::move(addresses)));
    };
}

}  // namespace porthole::provision
