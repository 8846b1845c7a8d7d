#include "local_cluster/control_plane/etcd_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/result.h"
#include "base/strings.h"
#include "client/kubeconfig.h"
#include "local_cluster/hosts/machine_check.h"
#include "net/http/http_client.h"
#include "net/tls/x509.h"
#include "node_join/pki_files.h"
#include "runtime/asio_loop.h"
#include "runtime/files/durable_file.h"
#include "store/etcd/membership.h"

namespace porthole::local_cluster {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using node_join::KeyPair;
namespace {

constexpr Duration MemberLimit = 2s;
constexpr std::uint16_t Ports[] = {2379, 12379, 22379, 32379};
constexpr const char* Authority = "ca.crt";
/// From where members connect to each other. They compare it with the addresses of the certificate that is shown to them.
constexpr const char* PeerSource = "127.0.0.1";

fs::path certificates(const DataDir& data) { return data.etcd() / "pki"; }

std::string member_name(int number) { return "etcd-" + std::to_string(number); }
std::string member_address(const EtcdPlace& place, int number) { return place.network + "." + std::to_string(number); }

/// Of this machine's loopback network, apart from the addresses that programs usually take there.
std::string network_of(const DataDir& data) {
    const auto number = static_cast<unsigned>(std::strtoul(data.id().c_str(), nullptr, 16));
    return fmt::format("127.{}.{}", 64 + (number >> 8) % 64, number % 256);
}

bool is_fresh(const DataDir& data, SystemTime now) {
    const auto text = read_file(certificates(data) / Authority);
    if (!text) return false;
    const auto info = net::parse_certificate(*text);
    return info && now < info->not_after - (info->not_after - info->not_before) / 3;
}

/// For members, which are clients of each other as well.
Result<void> issue_pair(const DataDir& data, const net::CertificateAuthority& authority, const std::string& name,
                        const std::vector<std::string>& addresses, SystemTime now) {
    const auto key = net::PrivateKey::generate();
    TRY(std::string certificate, authority.issue(key, {.common_name = name, .ip_addresses = addresses},
                                                 {.not_before = now - node_join::ClockSkew,
                                                  .not_after = now + node_join::AuthorityLife,
                                                  .for_server = !addresses.empty(),
                                                  .for_client = true}));
    return node_join::write_pair(certificates(data), name, {std::move(certificate), key.pem()});
}

/// By this, etcd itself tells a member that was there before from a new one. Folders are there after a start that has failed, too.
bool has_log(const EtcdMember& member) {
    std::error_code none;
    const fs::directory_iterator entries(member.data / "member/wal", none);
    return std::any_of(begin(entries), end(entries), [](const auto& entry) { return entry.path().extension() == ".wal"; });
}

Task<net::HttpResponse> get_path(net::HttpClient& client, const char* path) { return client.send({.method = "GET", .path = path}); }

Result<std::shared_ptr<const net::TlsClientContext>> client_tls(const DataDir& data) {
    const EtcdClientFiles files = etcd_client_files(data);
    TRY(const std::string ca, read_file(files.ca));
    TRY(const std::string certificate, read_file(files.certificate));
    TRY(const std::string key, read_file(files.key));
    return net::TlsClientContext::create({.ca_pem = ca, .certificate_pem = certificate, .key_pem = key});
}

Task<EtcdHealth> ask_member(AsioLoop& loop, DataDir data, EtcdMember member) {
    CO_TRY(auto tls, client_tls(data));
    CO_TRY(const client::ServerUrl url, client::parse_server_url(member.url));
    net::HttpClient client(loop, {.host = url.host, .port = url.port, .unix_path = {}}, std::move(tls));
    const auto health = co_await get_path(client, "/health");
    const auto metrics = co_await get_path(client, "/metrics");
    CO_TRY_VOID(co_await client.close());
    if (!health) co_return health.error();
    EtcdHealth found{.healthy = health->code == 200, .leads = false, .why_not = ""};
    if (!found.healthy) found.why_not = "it has no leader, or an alarm";
    found.leads = metrics && metrics->body.contains("\netcd_server_is_leader 1");
    co_return found;
}

}  // namespace

Result<EtcdPlace> choose_etcd_place(const DataDir& data, int count) {
    EtcdPlace place{.network = network_of(data), .port = 0};
    for (const std::uint16_t port : Ports) {
        bool free = true;
        for (int number = 1; number <= count; ++number)
            for (const std::uint16_t one : {port, static_cast<std::uint16_t>(port + 1)})
                free = free && port_is_free(one, member_address(place, number));
        place.port = port;
        if (free) return place;
    }
    return Error(Reason::AlreadyExists,
                 "programs on this machine listen on all ports that the cluster's etcd would take (2379 and others) of "
                 "every address: end one of them, or use --servers 1");
}

std::vector<EtcdMember> etcd_members(const DataDir& data, const Cluster& cluster) {
    std::vector<EtcdMember> members;
    for (int number = 1; cluster.has_several_servers() && number <= cluster.options.servers; ++number) {
        const std::string name = member_name(number), address = member_address(cluster.etcd, number);
        members.push_back({.name = name,
                           .address = address,
                           .url = fmt::format("https://{}:{}", address, cluster.etcd.port),
                           .peer_url = fmt::format("https://{}:{}", address, cluster.etcd.port + 1),
                           .data = data.etcd() / name});
    }
    return members;
}

std::vector<std::string> etcd_urls(const DataDir& data, const Cluster& cluster) {
    std::vector<std::string> urls;
    for (const EtcdMember& member : etcd_members(data, cluster)) urls.push_back(member.url);
    return urls;
}

Result<void> ensure_etcd_certificates(const DataDir& data, const Cluster& cluster, SystemTime now) {
    if (is_fresh(data, now)) return {};
    std::error_code error;
    fs::create_directories(certificates(data), error);
    if (error) return Error(Reason::Io, "cannot make " + certificates(data).string() + ": " + error.message());
    for (const fs::path& folder : {data.etcd(), certificates(data)}) fs::permissions(folder, fs::perms::owner_all, error);
    const auto authority =
        net::CertificateAuthority::create("porthole-etcd-ca", now - node_join::ClockSkew, now + node_join::AuthorityLife);
    for (const EtcdMember& member : etcd_members(data, cluster))
        TRY_VOID(issue_pair(data, authority, member.name, {member.address, PeerSource}, now));
    TRY_VOID(issue_pair(data, authority, "client", {}, now));
    return write_durably(certificates(data) / Authority, authority.certificate_pem());  // the last one: it tells that all are there
}

EtcdClientFiles etcd_client_files(const DataDir& data) {
    const fs::path folder = certificates(data);
    return {.ca = folder / Authority, .certificate = folder / "client.crt", .key = folder / "client.key"};
}

std::vector<std::string> etcd_client_flags(const DataDir& data, const Cluster& cluster) {
    const EtcdClientFiles files = etcd_client_files(data);
    return {"--etcd-servers",  join(etcd_urls(data, cluster), ","), "--etcd-cafile",  files.ca.string(),
            "--etcd-certfile", files.certificate.string(),          "--etcd-keyfile", files.key.string()};
}

bool has_lost_data(const DataDir& data, const EtcdMember& member) {
    return path_exists(data.store_location()) && !has_log(member);
}

Task<EtcdPeers> readmit_etcd_member(AsioLoop& loop, DataDir data, Cluster cluster, EtcdMember member) {
    CO_TRY(const auto tls, client_tls(data));
    const std::vector<EtcdMember> all = etcd_members(data, cluster);
    std::vector<store::etcd::Member> others;
    for (const EtcdMember& one : all) {
        if (one.name == member.name) continue;
        CO_TRY(const client::ServerUrl url, client::parse_server_url(one.url));
        const net::Endpoint endpoint{.host = url.host, .port = url.port, .unix_path = {}};
        others.push_back({.name = one.name, .dial = net::grpc_dial(loop, endpoint, tls), .scheme = "https", .authority = one.address});
    }
    store::etcd::Client client(loop, std::move(others));
    const auto readmitted = co_await store::etcd::readmit(client, member.peer_url);
    CO_TRY_VOID(co_await client.close());
    if (!readmitted) co_return readmitted.error();
    EtcdPeers peers{.members = {}, .exist = true};
    for (const EtcdMember& one : all)
        for (const store::etcd::ClusterMember& known : *readmitted)
            if (std::ranges::find(known.peer_urls, one.peer_url) != known.peer_urls.end()) peers.members.push_back(one);
    co_return peers;
}

ChildCommand etcd_command(const DataDir& data, const EtcdMember& member, const EtcdPeers& peers) {
    const std::string ca = (certificates(data) / Authority).string(), certificate = (certificates(data) / (member.name + ".crt")).string(),
                      key = (certificates(data) / (member.name + ".key")).string();
    std::string all;
    for (const EtcdMember& one : peers.members) all += (all.empty() ? "" : ",") + one.name + "=" + one.peer_url;
    const char* path = std::getenv("PATH");
    // Variables such as ETCD_NAME would be options, too.
    std::vector<std::string> arguments{"env", "-i", std::string("PATH=") + (path ? path : "/usr/bin:/bin"), "GOMEMLIMIT=512MiB", "etcd"};
    const std::pair<const char*, std::string> options[] = {
        {"name", member.name},
        {"data-dir", member.data.string()},
        {"listen-client-urls", member.url},
        {"advertise-client-urls", member.url},
        {"listen-peer-urls", member.peer_url},
        {"initial-advertise-peer-urls", member.peer_url},
        {"initial-cluster", all},
        {"initial-cluster-state", peers.exist ? "existing" : "new"},
        {"initial-cluster-token", "porthole-" + data.id()},
        {"client-cert-auth", "true"},
        {"trusted-ca-file", ca},
        {"cert-file", certificate},
        {"key-file", key},
        {"peer-client-cert-auth", "true"},
        {"peer-trusted-ca-file", ca},
        {"peer-cert-file", certificate},
        {"peer-key-file", key},
        {"quota-backend-bytes", std::to_string(2u << 30)},  // as the embedded store's
        {"snapshot-count", "10000"},                        // how much of its log it keeps in memory
        // All members share a disk with each other and with what a person does on this machine: a slow write is no reason to elect.
        {"heartbeat-interval", "200"},
        {"election-timeout", "2000"},
        {"pre-vote", "true"},
        {"logger", "zap"},
        {"log-level", "warn"},
    };
    for (const auto& [name, value] : options) arguments.push_back(fmt::format("--{}={}", name, value));
    return {.arguments = std::move(arguments), .log_file = data.logs() / (member.name + ".log"), .network_namespace = {}};
}

Task<EtcdHealth> ask_etcd_member(AsioLoop& loop, DataDir data, EtcdMember member) {
    auto answer = co_await with_timeout(ask_member(loop, std::move(data), std::move(member)), MemberLimit, "asking a member of etcd");
    if (is_cancelled(answer)) co_return answer.error();
    if (!answer) co_return EtcdHealth{.healthy = false, .leads = false, .why_not = answer.error().message};
    co_return *std::move(answer);
}

}  // namespace porthole::local_cluster
