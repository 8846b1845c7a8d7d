#include "node_join/identity.h"

#include <algorithm>
#include <optional>

#include "api/core_v1.h"
#include "base/base64.h"
#include "base/version.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "net/tls/crypto.h"
#include "net/tls/x509.h"
#include "node_join/ca_rotation.h"
#include "node_join/certificate.h"
#include "node_join/pki_files.h"
#include "node_join/server_list.h"
#include "runtime/asio_loop.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_system.h"
#include "schema/value.h"
#include "schema/yaml/yaml.h"

namespace porthole::node_join {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using api::core::v1::ConfigMap;

constexpr std::size_t TokenIdLength = 6, TokenLength = 23;
constexpr std::string_view HashPrefix = "sha256:";
constexpr std::size_t HashDigits = 64;
/// A controller signs with a new token a moment later; if the server with the controllers is being replaced, when another one leads.
constexpr Duration SignedSoon = 3s, SignedByNextLeader = 40s;

std::string user_agent() { return std::string("porthole-join/") + PortholeVersion; }

bool is_token(const std::string& text) {
    return text.size() == TokenLength && text[TokenIdLength] == '.' && std::ranges::count(text, '.') == 1 &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == text.npos;
}

bool is_hash(const std::string& text) {
    return text.starts_with(HashPrefix) && text.size() == HashPrefix.size() + HashDigits &&
           text.find_first_not_of("0123456789abcdef", HashPrefix.size()) == text.npos;
}

/// The authority that the kubeconfig in cluster-info names. Its entries have no names, so it is no kubeconfig to be resolved.
Result<std::string> authority_of(const std::string& kubeconfig) {
    TRY(const schema::Value document, schema::parse_yaml(kubeconfig));
    const schema::Value* clusters = document.find("clusters");
    const bool one = clusters && clusters->is_array() && !clusters->as_array().empty();
    const std::string_view encoded = one ? clusters->as_array()[0].string_at({"cluster", "certificate-authority-data"}) : "";
    if (encoded.empty()) return Error(Reason::BadRequest, "the cluster's cluster-info names no certificate authority");
    return decode_base64(encoded);
}

/// Whether cluster-info is signed with our token: only who knows the token can have signed it. nullopt: not signed with it.
std::optional<bool> is_signed(const ConfigMap& info, const std::string& token) {
    const std::string id = token.substr(0, TokenIdLength), secret = token.substr(TokenIdLength + 1);
    const auto signature = info.data.find("jws-kubeconfig-" + id), signed_text = info.data.find("kubeconfig");
    if (signature == info.data.end() || signed_text == info.data.end()) return std::nullopt;
    return net::verify_detached_jws(signature->second, signed_text->second, id, secret);
}

constexpr const char* ServingFile = "serving.pem";

/// cluster-info, once it is signed with the token, or after `limit` as it is.
Task<ConfigMap> wait_for_signature(EventLoop& loop, client::Client& client, std::string server, std::string token, Duration limit) {
    const MonotonicTime deadline = loop.now() + limit;
    for (;;) {
        auto stored =
            co_await with_timeout(client.get<ConfigMap>({"kube-public", "cluster-info"}), 10s, "asking the server for cluster-info");
        if (!stored) {
            Error error = std::move(stored).error().with_context("cannot reach the cluster at " + server);
            error.message += "; check the address, and that no firewall is in between";
            co_return error;
        }
        if (is_signed(*stored, token) || loop.now() >= deadline) co_return std::move(*stored);
        CO_TRY_VOID(co_await loop.sleep(200ms));
    }
}

}  // namespace

Task<std::string> published_authority(client::Client& client) {
    CO_TRY(const ConfigMap info, co_await client.get<ConfigMap>({"kube-public", "cluster-info"}));
    const auto kubeconfig = info.data.find("kubeconfig");
    if (kubeconfig == info.data.end()) co_return Error(Reason::NotFound, "cluster-info has no kubeconfig");
    co_return authority_of(kubeconfig->second);
}

Result<void> check_target(JoinTarget& target) {
    for (std::string& server : target.servers) {
        if (server.starts_with("http://"))
            return Error(Reason::BadRequest, "server \"" + server + "\": the address of an API server must begin with https://");
        if (!server.starts_with("https://")) server = "https://" + server;
        TRY_VOID(client::parse_server_url(server));
    }
    if (!is_token(target.token)) {
        return Error(Reason::BadRequest,
                     "the token must look like abcdef.0123456789abcdef; `porthole token create` on the server creates one");
    }
    if (!std::ranges::all_of(target.ca_hashes, is_hash)) {
        return Error(Reason::BadRequest,
                     "--ca-cert-hash must look like sha256:<64 hex digits>; `porthole token create --print-join-command` prints it");
    }
    return {};
}

namespace {

/// Those of the authorities whose hashes were given. The others are whoever's has answered, until the signature is verified.
Result<std::string> pinned(const std::string& ca_pem, const JoinTarget& target) {
    std::string found;
    for (const std::string& one : split_certificates(ca_pem)) {
        TRY(const auto ids, authority_ids(one));
        if (std::ranges::find(target.ca_hashes, std::string(HashPrefix) + ids.at(0)) != target.ca_hashes.end()) found += one;
    }
    return found;
}

/// The authorities in cluster-info, if the hash of one of them was given. Error: Unauthorized.
Result<std::string> expected_authority(const ConfigMap& stored, const JoinTarget& target) {
    const auto kubeconfig = stored.data.find("kubeconfig");
    TRY(std::string ca_pem, authority_of(kubeconfig == stored.data.end() ? "" : kubeconfig->second));
    // While an authority is rotated there are two, and either hash was handed out.
    TRY(const std::string expected, pinned(ca_pem, target));
    if (!expected.empty()) return ca_pem;
    TRY(const auto authorities, authority_ids(ca_pem));
    return Error(Reason::Unauthorized, "the server's authority is " + std::string(HashPrefix) +
                                           (authorities.empty() ? "" : authorities.front()) +
                                           ", which does not match --ca-cert-hash: "
                                           "either the hash belongs to another cluster, or someone is intercepting the connection");
}

/// Whether the server refuses the token. It is shown only to a server that `ca_pem` verifies.
Task<bool> is_refused(std::string server, std::string ca_pem, std::string token, const Connector& connect) {
    CO_TRY(const auto transport, connect({.server = std::move(server), .ca_pem = std::move(ca_pem), .token = std::move(token)}));
    client::Client client(*transport);
    const auto answer = co_await with_timeout(published_authority(client), 10s, "showing the token to the server");
    if (is_cancelled(answer)) co_return answer.error();
    co_return !answer && answer.error().reason == Reason::Unauthorized;
}

Task<ClusterInfo> discover_at(EventLoop& loop, JoinTarget target, std::string server, const Connector& connect) {
    CO_TRY(const auto transport, connect({.server = server, .insecure_skip_verify = true}));
    client::Client client(*transport);
    CO_TRY(ConfigMap stored, co_await wait_for_signature(loop, client, server, target.token, SignedSoon));
    CO_TRY(std::string ca_pem, expected_authority(stored, target));
    if (!is_signed(stored, target.token)) {
        CO_TRY(std::string known, pinned(ca_pem, target));
        CO_TRY(const bool refused, co_await is_refused(server, std::move(known), target.token, connect));
        if (refused)
            co_return Error(Reason::Unauthorized,
                            "the token is unknown to the server or has expired; create another with `porthole token create`");
        CO_TRY(stored, co_await wait_for_signature(loop, client, server, target.token, SignedByNextLeader));
        CO_TRY(ca_pem, expected_authority(stored, target));
    }
    const std::optional<bool> genuine = is_signed(stored, target.token);
    if (!genuine) {
        co_return Error(Reason::Timeout,
                        "the server knows the token, but the cluster's controllers have not signed the ConfigMap cluster-info with it; "
                        "if they run, join again");
    }
    if (!*genuine) {
        co_return Error(Reason::Unauthorized,
                        "the token's second half does not match the cluster's; "
                        "copy the whole token, or create another with `porthole token create`");
    }
    co_return ClusterInfo{std::move(server), std::move(ca_pem), std::move(stored.data)};
}

}  // namespace

Task<ClusterInfo> discover_cluster(AsioLoop& loop, JoinTarget target) {
    return discover_cluster(loop, std::move(target), [&loop](const client::ClientConfig& config) {
        return client::make_http_transport(loop, config, user_agent());
    });
}

Task<ClusterInfo> discover_cluster(EventLoop& loop, JoinTarget target, Connector connect) {
    Error last(Reason::BadRequest, "no server is given");
    for (const std::string& server : target.servers) {
        auto found = co_await discover_at(loop, target, server, connect);
        // One that answers wrongly is not passed over: something is wrong that others would hide.
        const bool next = !found && (found.error().reason == Reason::Unavailable || found.error().reason == Reason::Timeout);
        if (!next) co_return std::move(found);
        last = std::move(found).error();
    }
    if (target.servers.size() > 1) last.message = "no server answers: " + last.message;
    co_return last;
}

Task<ServerChoice> choose_servers(AsioLoop& loop, JoinTarget target, ClusterInfo info, std::uint16_t port,
                                  std::function<void(const std::string&)> why_not) {
    ServerChoice direct{{info.server}, 0};
    CO_TRY(const client::ServerUrl url, client::parse_server_url(info.server));
    if (port == 0 || !url.prefix.empty()) co_return direct;
    const client::ClientConfig config{.server = info.server, .ca_pem = info.ca_pem, .server_name = ServerName};
    CO_TRY(const auto transport, client::make_http_transport(loop, config, user_agent()));
    client::Client client(*transport);
    const auto verified = co_await with_timeout(published_authority(client), 10s, "verifying the server's name");
    if (is_cancelled(verified)) co_return verified.error();
    if (verified) co_return ServerChoice{std::move(target.servers), port};
    why_not("the node will use " + info.server + " alone: its certificate is not for the name " + ServerName + " (" +
            verified.error().message + ")");
    co_return direct;
}

Task<KeyPair> request_node_identity(AsioLoop& loop, JoinTarget target, ClusterInfo info, std::string node_name) {
    const client::ClientConfig config{.server = info.server, .ca_pem = info.ca_pem, .token = target.token};
    CO_TRY(const auto transport, client::make_http_transport(loop, config, user_agent()));
    client::Client client(*transport);
    co_return co_await request_node_certificate(loop, client, std::move(node_name));
}

Result<void> write_node_identity(const fs::path& folder, const KeyPair& identity) {
    return write_durably(folder / IdentityFile, identity.certificate_pem + identity.key_pem);
}

Result<void> write_serving_identity(const fs::path& folder, const KeyPair& identity) {
    return write_durably(folder / ServingFile, identity.certificate_pem + identity.key_pem);
}

KeyPair read_serving_identity(const fs::path& folder) {
    const auto text = make_file_system()->read((folder / ServingFile).string());
    const std::size_t word = text ? text->find("PRIVATE KEY") : std::string::npos;
    const std::size_t key = word == std::string::npos ? word : text->rfind("-----BEGIN ", word);
    return key == std::string::npos ? KeyPair{} : KeyPair{text->substr(0, key), text->substr(key)};
}

bool is_accepted_identity(const std::string& identity, const std::string& ca_pem, SystemTime now) {
    const auto own = net::parse_certificate(identity);
    if (!own || own->not_after <= now) return false;
    return std::ranges::any_of(split_certificates(ca_pem), [&](const std::string& one) {
        const auto authority = net::parse_certificate(one);
        return authority && own->issuer_common_name == authority->subject.common_name &&
               (own->authority_key_id.empty() || own->authority_key_id == authority->subject_key_id);
    });
}

std::string node_kubeconfig(const std::string& server, const fs::path& ca, const fs::path& folder, const std::string& server_name) {
    const std::string identity = (folder / IdentityFile).string();
    return "apiVersion: v1\nkind: Config\ncurrent-context: node\n"
           "clusters:\n- name: porthole\n  cluster:\n    server: " +
           server + (server_name.empty() ? "" : "\n    tls-server-name: " + server_name) + "\n    certificate-authority: " + ca.string() +
           "\nusers:\n- name: node\n  user:\n    client-certificate: " + identity + "\n    client-key: " + identity +
           "\ncontexts:\n- name: node\n  context:\n    cluster: porthole\n    user: node\n";
}

std::optional<fs::path> identity_folder(const client::Kubeconfig& kubeconfig) {
    const auto document = schema::parse_yaml(kubeconfig.text());
    const schema::Value* users = document ? document->find("users") : nullptr;
    if (!users || !users->is_array() || users->as_array().size() != 1) return std::nullopt;
    const std::string_view certificate = users->as_array()[0].string_at({"user", "client-certificate"});
    const fs::path path(certificate);
    if (path.filename() != IdentityFile || users->as_array()[0].string_at({"user", "client-key"}) != certificate) return std::nullopt;
    return path.parent_path();
}

Result<std::string> write_server_choice(const ServerChoice& choice, const fs::path& ca, const fs::path& folder) {
    const fs::path list = server_list_path(folder.string());
    if (choice.balancer_port == 0) {
        std::error_code ignored;
        fs::remove(list, ignored);
        return node_kubeconfig(choice.servers.at(0), ca, folder);
    }
    std::vector<KnownServer> servers;
    for (const std::string& server : choice.servers) servers.push_back({.url = server, .given = true, .state = ""});
    TRY_VOID(write_durably(list, to_text(servers), 0644));
    const client::ServerUrl own{.host = BalancerAddress, .port = choice.balancer_port, .prefix = ""};
    return node_kubeconfig("https://" + own.authority(), ca, folder, ServerName);
}

Result<void> write_node_folder(const fs::path& folder, const ServerChoice& choice, const ClusterInfo& info, const KeyPair& identity) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
    fs::permissions(folder, fs::perms::owner_all, error);
    TRY_VOID(write_durably(folder / "ca.crt", info.ca_pem, 0644));
    TRY_VOID(write_node_identity(folder, identity));
    fs::remove(folder / ServingFile, error);  // of the cluster that this machine was a node of before
    TRY(const std::string kubeconfig, write_server_choice(choice, folder / "ca.crt", folder));
    return write_durably(folder / "kubeconfig", kubeconfig);
}

}  // namespace porthole::node_join
