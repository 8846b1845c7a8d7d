#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "api/certificates_v1.h"
#include "api/core_v1.h"
#include "base/base64.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/agent_options.h"
#include "cmd/cluster.h"
#include "cmd/command.h"
#include "cmd/flags.h"
#include "cmd/pki.h"
#include "cmd/progress.h"
#include "cmd/runtime_setup.h"
#include "cmd/version.h"
#include "net/x509.h"
#include "schema/value.h"
#include "schema/yaml.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using api::certificates::v1::CertificateSigningRequest;
using api::core::v1::ConfigMap;

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

/// Reads kube-public/cluster-info from a server that is not trusted yet, and trusts the authority that it names only if its
/// public key is the one we were told.
Task<ClusterInfo> discover(RealWorld& world, JoinFlags flags) {
    CO_TRY(const auto transport,
           client::make_http_transport(world.loop, {.server = flags.server, .insecure_skip_verify = true}, user_agent()));
    client::Client client(*transport);
    auto stored = co_await with_timeout(client.get<ConfigMap>({"kube-public", "cluster-info"}), 10s, "asking the server for cluster-info");
    if (!stored) co_return std::move(stored).error().with_context("cannot reach the cluster at " + flags.server);
    CO_TRY(std::string ca_pem, authority_of(stored->data["kubeconfig"]));
    CO_TRY(const auto ca, net::parse_certificate(ca_pem));
    const std::string hash = "sha256:" + net::to_hex(net::sha256(ca.public_der));
    if (std::ranges::find(flags.ca_hashes, hash) == flags.ca_hashes.end()) {
        co_return Error(Reason::Unauthorized, "the server's authority is " + hash +
                                                  ", which is none of those given by --ca-cert-hash: "
                                                  "either the hash is of another cluster, or somebody stands in between");
    }
    co_return ClusterInfo{std::move(ca_pem), stored->data};
}

/// Asks for a client certificate as this node and waits until it is issued.
Task<KeyPair> request_identity(RealWorld& world, JoinFlags flags, ClusterInfo info) {
    const client::ClientConfig config{.server = flags.server, .ca_pem = info.ca_pem, .token = flags.token};
    CO_TRY(const auto transport, client::make_http_transport(world.loop, config, user_agent()));
    client::Client client(*transport);
    const net::PrivateKey key = net::PrivateKey::generate();
    CertificateSigningRequest request;
    request.metadata.generate_name = "node-csr-";
    request.spec.request =
        net::create_certificate_request(key, {.common_name = "system:node:" + flags.agent.node_name, .organizations = {"system:nodes"}});
    request.spec.signer_name = "kubernetes.io/kube-apiserver-client-kubelet";
    request.spec.usages = {"digital signature", "client auth"};
    auto created = co_await client.create(std::move(request));
    if (!created && created.error().reason == Reason::Unauthorized) {
        co_return Error(Reason::Unauthorized,
                        "the server does not know this token, or it has expired; make another with `porthole token create`");
    }
    if (!created) co_return std::move(created).error();
    const MonotonicTime deadline = world.loop.now() + 60s;
    while (world.loop.now() < deadline) {
        CO_TRY(const auto current, co_await client.get<CertificateSigningRequest>(client::key_of(*created)));
        if (!current.status.certificate.empty()) co_return KeyPair{current.status.certificate, key.pem()};
        for (const auto& condition : current.status.conditions) {
            if (condition.type == "Denied" || condition.type == "Failed")
                co_return Error(Reason::Forbidden, "the cluster refused the node: " + condition.message);
        }
        CO_CHECK(co_await world.loop.sleep(200ms));
    }
    co_return Error(Reason::Timeout, "the certificate request " + created->metadata.name +
                                         " has not been approved within a minute; "
                                         "`kubectl certificate approve " +
                                         created->metadata.name + "` approves it, then join again");
}

Result<void> write_identity(const JoinFlags& flags, const ClusterInfo& info, const KeyPair& identity) {
    const fs::path folder = flags.data;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
    fs::permissions(folder, fs::perms::owner_all, error);
    TRY_VOID(write_file(folder / "ca.crt", info.ca_pem, 0644));
    TRY_VOID(write_file(folder / "client.crt", identity.certificate_pem, 0644));
    TRY_VOID(write_file(folder / "client.key", identity.key_pem));
    return write_file(folder / "kubeconfig", node_kubeconfig(flags.server, folder / "ca.crt", folder));
}

/// The agent as a service of the machine.
Task<> install_service(RealWorld& world, JoinFlags flags, std::vector<std::string> arguments) {
    std::string line;
    for (const std::string& argument : arguments) line += (line.empty() ? "" : " ") + argument;
    const std::string unit =
        "[Unit]\nDescription=Porthole node agent\nAfter=network-online.target containerd.service\nWants=network-online.target\n\n"
        "[Service]\nExecStart=" +
        line +
        "\nRestart=always\nRestartSec=2\nKillMode=process\nDelegate=yes\n\n"
        "[Install]\nWantedBy=multi-user.target\n";
    CO_CHECK(write_file("/etc/systemd/system/porthole-agent.service", unit, 0644));
    for (const auto& words : {std::vector<std::string>{"systemctl", "daemon-reload"},
                              std::vector<std::string>{"systemctl", "enable", "--now", "porthole-agent.service"}}) {
        CO_TRY(const auto result, co_await world.processes->run({.arguments = words}));
        if (result.exit_code != 0) co_return Error(Reason::Io, words[0] + " " + words[1] + ": " + result.errors);
    }
    co_return {};
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
    if (!flags.foreground && fs::exists("/run/systemd/system")) {
        const auto installed = world.run(install_service(world, flags, std::move(*agent)));
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
