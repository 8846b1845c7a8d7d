#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "api/core_v1.h"
#include "base/base64.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/agent_options.h"
#include "cmd/cluster.h"
#include "cmd/command.h"
#include "cmd/flags.h"
#include "cmd/node_certificate.h"
#include "cmd/pki.h"
#include "cmd/progress.h"
#include "cmd/runtime_setup.h"
#include "cmd/system_unit.h"
#include "cmd/version.h"
#include "net/detached_jws.h"
#include "net/x509.h"
#include "schema/value.h"
#include "schema/yaml.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using api::core::v1::ConfigMap;

constexpr std::size_t TokenIdLength = 6;

struct JoinFlags {
    std::string server, token;
    std::vector<std::string> ca_hashes;
    std::string data = "/var/lib/porthole-agent";
    bool foreground = false;
    AgentOptions agent;
};

std::string user_agent() { return std::string("porthole-join/") + Version; }

/// What a node may know before it has an identity.
struct ClusterInfo {
    std::string ca_pem;
    std::map<std::string, std::string> data;
};

std::string host_name() {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return name;
}

Result<void> check_flags(JoinFlags& flags) {
    if (!flags.server.starts_with("https://")) flags.server = "https://" + flags.server;
    const std::string& token = flags.token;
    if (token.size() != 23 || token[6] != '.' || token.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") != token.npos) {
        return Error(Reason::BadRequest,
                     "the token must look like abcdef.0123456789abcdef; `porthole token create` on the server makes one");
    }
    for (const std::string& hash : flags.ca_hashes) {
        if (!hash.starts_with("sha256:") || hash.size() != 7 + 64) {
            return Error(Reason::BadRequest,
                         "--ca-cert-hash must look like sha256:<64 hex digits>; `porthole token create --print-join-command` prints it");
        }
    }
    if (::geteuid() != 0) return Error(Reason::Forbidden, "`join` sets up a node: run it as root, for example with sudo");
    if (::access(flags.agent.runtime_endpoint.c_str(), F_OK) != 0) {
        return Error(Reason::NotFound, "containerd is not there at " + flags.agent.runtime_endpoint +
                                           "; install and start it: apt-get install containerd containernetworking-plugins");
    }
    return {};
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

/// A token that has just been made is signed with a moment later.
Task<ConfigMap> wait_for_signature(RealWorld& world, client::Client& client, JoinFlags flags) {
    const MonotonicTime deadline = world.loop.now() + 3s;
    for (;;) {
        auto stored = co_await with_timeout(client.get<ConfigMap>({"kube-public", "cluster-info"}), 10s, "asking the server for cluster-info");
        if (!stored) {
            Error error = std::move(stored).error().with_context("cannot reach the cluster at " + flags.server);
            error.message += "; check the address, and that no firewall is in between";
            co_return error;
        }
        if (is_signed(*stored, flags.token) || world.loop.now() >= deadline) co_return std::move(*stored);
        CO_CHECK(co_await world.loop.sleep(200ms));
    }
}

/// Reads kube-public/cluster-info from a server that is not trusted yet. Trusts the authority that it names only if its public
/// key is the one we were told, and the whole is signed by somebody who knows our token.
Task<ClusterInfo> discover(RealWorld& world, JoinFlags flags) {
    CO_TRY(const auto transport,
           client::make_http_transport(world.loop, {.server = flags.server, .insecure_skip_verify = true}, user_agent()));
    client::Client client(*transport);
    CO_TRY(ConfigMap stored, co_await wait_for_signature(world, client, flags));
    CO_TRY(std::string ca_pem, authority_of(stored.data["kubeconfig"]));
    CO_TRY(const auto ca, net::parse_certificate(ca_pem));
    const std::string hash = "sha256:" + net::to_hex(net::sha256(ca.public_der));
    if (std::ranges::find(flags.ca_hashes, hash) == flags.ca_hashes.end()) {
        co_return Error(Reason::Unauthorized, "the server's authority is " + hash +
                                                  ", which is none of those given by --ca-cert-hash: "
                                                  "either the hash is of another cluster, or somebody stands in between");
    }
    const std::optional<bool> genuine = is_signed(stored, flags.token);
    if (!genuine)
        co_return Error(Reason::Unauthorized,
                        "the server does not know this token, or it has expired; make another with `porthole token create`");
    if (!*genuine)
        co_return Error(Reason::Unauthorized,
                        "the token's second half is not the one that the cluster knows; "
                        "copy the whole token, or make another with `porthole token create`");
    co_return ClusterInfo{std::move(ca_pem), stored.data};
}

/// As the token's owner.
Task<KeyPair> request_identity(RealWorld& world, JoinFlags flags, ClusterInfo info) {
    const client::ClientConfig config{.server = flags.server, .ca_pem = info.ca_pem, .token = flags.token};
    CO_TRY(const auto transport, client::make_http_transport(world.loop, config, user_agent()));
    client::Client client(*transport);
    co_return co_await request_node_certificate(world.loop, client, flags.agent.node_name);
}

Result<void> write_identity(const JoinFlags& flags, const ClusterInfo& info, const KeyPair& identity) {
    const fs::path folder = flags.data;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
    fs::permissions(folder, fs::perms::owner_all, error);
    TRY_VOID(write_file(folder / "ca.crt", info.ca_pem, 0644));
    TRY_VOID(write_node_identity(folder, identity));
    return write_file(folder / "kubeconfig", node_kubeconfig(flags.server, folder / "ca.crt", folder));
}

std::string datum(const ClusterInfo& info, const char* key, const std::string& fallback) {
    const auto found = info.data.find(key);
    return found == info.data.end() ? fallback : found->second;
}

/// Every step of joining; safe to run twice.
Task<std::vector<std::string>> join(RealWorld& world, Progress& progress, JoinFlags flags) {
    progress.begin("asking " + flags.server + " who it is");
    CO_TRY(const ClusterInfo info, co_await discover(world, flags));
    progress.done("the cluster is the one meant");
    progress.begin("asking for a certificate");
    CO_TRY(const KeyPair identity, co_await request_identity(world, flags, info));
    CO_CHECK(write_identity(flags, info, identity));
    progress.done("certificate for " + flags.agent.node_name);

    AgentOptions agent = flags.agent;
    agent.data = flags.data;
    agent.kubeconfig = (fs::path(flags.data) / "kubeconfig").string();
    agent.cluster_cidr = datum(info, "clusterCidr", agent.cluster_cidr);
    agent.service_cidr = datum(info, "serviceCidr", agent.service_cidr);
    agent.cluster_dns = datum(info, "clusterDns", agent.cluster_dns);
    agent.cluster_domain = datum(info, "clusterDomain", agent.cluster_domain);
    co_return agent_arguments(agent);
}

}  // namespace

int run_join(std::vector<std::string> arguments) {
    JoinFlags flags;
    flags.agent.node_name = host_name();
    CLI::App app("Make this machine a node of a cluster elsewhere.", "join");
    app.add_option("server", flags.server, "the API server, for example https://10.0.0.5:6443")->required();
    app.add_option("--token", flags.token, "from `porthole token create`")->required();
    app.add_option("--ca-cert-hash,--discovery-token-ca-cert-hash", flags.ca_hashes, "sha256 of the cluster's public key")->required();
    app.add_option("--data", flags.data, "where the node keeps its things")->capture_default_str();
    app.add_flag("--foreground", flags.foreground, "run the agent here instead of as a service");
    add_node_flags(app, flags.agent);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (const auto checked = check_flags(flags); !checked) return fail(checked.error().message);

    RealWorld world;
    Progress progress(world.loop, false);
    auto agent = world.run(join(world, progress, flags));
    if (!agent) return fail(agent.error().message);
    if (!flags.foreground && SystemUnit::possible()) {
        const auto installed = world.run(SystemUnit::agent(*agent).install(*world.processes, true));
        if (!installed) return fail(installed.error().message);
        progress.done("service porthole-agent started; `kubectl get nodes` shows " + flags.agent.node_name);
        return 0;
    }
    progress.note("starting the agent; it ends with this command");
    std::vector<char*> words;
    for (std::string& word : *agent) words.push_back(word.data());
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    return fail("cannot start the agent");
}

}  // namespace porthole::cmd
