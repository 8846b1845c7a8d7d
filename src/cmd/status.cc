#include <algorithm>
#include <cstdio>

#include "base/version.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/program/flags.h"
#include "cmd/program/output_flag.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/control_plane/control_plane_state.h"
#include "local_cluster/hosts/host_files.h"
#include "local_cluster/next_steps.h"
#include "local_cluster/state/cluster.h"
#include "net/http/http_client.h"
#include "node_join/identity.h"
#include "node_join/pki.h"
#include "node_join/server_list.h"
#include "runtime/files/file_system.h"
#include "schema/json/json.h"
#include "schema/value.h"
#include "windows/runtime.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

using namespace std::chrono_literals;
using schema::Value;

/// What the server of this machine says: its nodes, and whether its store is within its quota.
struct Answers {
    Value nodes;
    bool store_full = false;
};

Task<Answers> ask_server(RealWorld& world, const DataDir& data, ApiServerProcess server, std::uint16_t port) {
    CO_TRY(const Pki pki, Pki::load(data.pki()));
    CO_TRY(auto tls, net::TlsClientContext::create(
                         {.ca_pem = pki.ca_pem, .certificate_pem = pki.admin.certificate_pem, .key_pem = pki.admin.key_pem}));
    net::HttpClient client(world.loop, {.host = server.address, .port = port}, std::move(tls));
    const auto nodes = co_await client.send({.method = "GET", .path = "/api/v1/nodes"});
    const auto quota = co_await client.send({.method = "GET", .path = "/readyz/store-quota"});
    CO_TRY_VOID(co_await client.close());
    if (!nodes) co_return nodes.error();
    Answers answers{.nodes = {}, .store_full = quota && quota->code == 500};
    CO_TRY(answers.nodes, schema::parse_json(nodes->body));
    co_return answers;
}

/// The first of its servers that answers.
Task<Answers> ask_servers(RealWorld& world, const DataDir& data, const Cluster& cluster) {
    Error last(Reason::Unavailable, "there is no server");
    for (const ApiServerProcess& server : api_servers(data, cluster)) {
        auto answers = co_await with_timeout(ask_server(world, data, server, cluster.options.port), 3s, "asking the server");
        if (answers || is_cancelled(answers)) co_return answers;
        last = answers.error();
    }
    co_return last;
}

/// A cluster that is not ours lets a node read itself: so each host's own certificate is used, which lies in its C:\k\pki.
Task<Answers> ask_foreign_server(RealWorld& world, const DataDir& data, const Cluster& cluster) {
    Value items = Value::array();
    for (const NodeHost& node : cluster.nodes(data)) {
        const HostFiles files(data.node(node.name));
        CO_TRY(const std::string identity, files.read_credential(IdentityFile));
        CO_TRY(std::string ca, files.read_credential("ca.crt"));
        const client::ClientConfig config{
            .server = cluster.server_url(), .ca_pem = std::move(ca), .certificate_pem = identity, .key_pem = identity};
        CO_TRY(const auto transport, client::make_http_transport(world.loop, config, std::string("porthole/") + PortholeVersion));
        CO_TRY(const client::ApiResponse answer, co_await transport->call({.method = "GET", .path = "/api/v1/nodes/" + node.name}));
        if (answer.code == 200) {
            CO_TRY(Value found, schema::parse_json(*answer.body));
            items.as_array().push_back(std::move(found));
        }
    }
    co_return Answers{.nodes = Value::object({{"items", std::move(items)}})};
}

/// Whether the Ready condition of `name` is True, or why that is not known.
std::string readiness(const Result<Answers>& answers, const std::string& name) {
    const Value* items = answers ? answers->nodes.find("items") : nullptr;
    if (!items || !items->is_array()) return "Unknown (the API server does not answer)";
    for (const Value& node : items->as_array()) {
        const Value* conditions = node.at_path({"status", "conditions"});
        if (node.string_at({"metadata", "name"}) != name || !conditions || !conditions->is_array()) continue;
        for (const Value& condition : conditions->as_array()) {
            if (condition.string_at({"type"}) == "Ready") return condition.string_at({"status"}) == "True" ? "Ready" : "NotReady";
        }
    }
    return "NotRegistered";
}

/// The version of Wine that the pods of the node `name` have, as it reports; "" if it runs none, or that is not known.
std::string wine_of(const Result<Answers>& answers, const std::string& name) {
    const Value* items = answers ? answers->nodes.find("items") : nullptr;
    if (!items || !items->is_array()) return "";
    const auto found = std::ranges::find(items->as_array(), name, [](const Value& node) { return node.string_at({"metadata", "name"}); });
    if (found == items->as_array().end()) return "";
    return windows::wine_version_of(found->string_at({"status", "nodeInfo", "containerRuntimeVersion"}));
}

Value describe(const Cluster& cluster, const DataDir& data, const Result<Answers>& answers) {
    Value status =
        Value::object({{"running", is_running(cluster.supervisor)}, {"server", cluster.server_url()}, {"data", data.root().string()}});
    if (answers && answers->store_full) status["storeQuotaExceeded"] = true;
    status["processes"] = Value::array();
    for (const auto& [name, process] : cluster.processes) {
        status["processes"].as_array().push_back(Value::object({{"name", name}, {"pid", process.pid}, {"running", is_running(process)}}));
    }
    status["nodes"] = Value::array();
    for (const NodeHost& node : cluster.nodes(data)) {
        status["nodes"].as_array().push_back(Value::object({{"name", node.name},
                                                            {"address", node.address},
                                                            {"system", node.is_windows() ? "windows" : "linux"},
                                                            {"emulates", node.windows_profile},
                                                            {"wine", wine_of(answers, node.name)},
                                                            {"wineRoot", node.wine_root},
                                                            {"status", readiness(answers, node.name)},
                                                            {"networkNamespace", node.network_namespace}}));
    }
    return status;
}

void print_control_plane(const Value& status) {
    if (!status.find("servers")) return;
    const auto line = [](const Value& one, const std::string& leads) {
        std::printf("%-12s %-16s %s%s\n", one.find("name")->as_string().c_str(), one.find("address")->as_string().c_str(),
                    one.find("status")->as_string().c_str(), leads.c_str());
    };
    std::printf("%-12s %-16s %s\n", "SERVER", "ADDRESS", "STATUS");
    for (const Value& server : status.find("servers")->as_array()) {
        std::string leads;
        for (const Value& component : server.find("leads")->as_array())
            leads += (leads.empty() ? ", leads " : " and ") + component.as_string();
        line(server, leads);
    }
    std::printf("\n%-12s %-16s %s\n", "ETCD", "ADDRESS", "STATUS");
    for (const Value& member : status.find("etcdMembers")->as_array()) line(member, member.find("leads")->as_bool() ? ", leads" : "");
    std::printf("\n");
}

void print_text(const Value& status) {
    std::printf("cluster  %s\nserver   %s\ndata     %s\n\n", status.find("running")->as_bool() ? "running" : "not running",
                status.find("server")->as_string().c_str(), status.find("data")->as_string().c_str());
    if (status.find("storeQuotaExceeded"))
        std::printf("The store exceeds its quota: creates and updates are refused until something has been deleted.\n\n");
    print_control_plane(status);
    std::printf("%-12s %-34s %-16s %s\n", "NODE", "SYSTEM", "ADDRESS", "STATUS");
    for (const Value& node : status.find("nodes")->as_array()) {
        const std::string& profile = node.find("emulates")->as_string();
        const std::string& wine = node.find("wine")->as_string();
        const std::string system = profile.empty() ? node.find("system")->as_string()
                                                   : "windows " + profile + " (emulated" + (wine.empty() ? ")" : ", Wine " + wine + ")");
        std::printf("%-12s %-34s %-16s %s\n", node.find("name")->as_string().c_str(), system.c_str(),
                    node.find("address")->as_string().c_str(), node.find("status")->as_string().c_str());
    }
    std::printf("\n%-24s %-8s %s\n", "PROCESS", "PID", "STATUS");
    for (const Value& process : status.find("processes")->as_array()) {
        std::printf("%-24s %-8lld %s\n", process.find("name")->as_string().c_str(), static_cast<long long>(process.find("pid")->as_int()),
                    process.find("running")->as_bool() ? "running" : "ended");
    }
}

ClusterHealth health_of(const Value& status, bool foreign) {
    ClusterHealth health{.running = status.find("running")->as_bool(), .foreign = foreign};
    for (const Value& node : status.find("nodes")->as_array()) {
        if (node.string_at({"status"}) != "Ready" && health.first_not_ready.empty()) health.first_not_ready = node.string_at({"name"});
    }
    for (const Value& process : status.find("processes")->as_array()) {
        if (!process.find("running")->as_bool() && health.process_not_running.empty())
            health.process_not_running = process.string_at({"name"});
    }
    return health;
}

constexpr const char* AgentFolder = "/var/lib/porthole-agent";

/// Of a machine that has joined a cluster elsewhere: the API servers, as its agent has written them down. Exit code 0 if one is in use.
int show_joined_node(const std::vector<KnownServer>& servers, const OutputFlag& output) {
    Value list = Value::array();
    bool used = false;
    if (output.is_text())
        std::printf("node of a cluster on another machine; its agent is in %s\n\n%-48s %s\n", AgentFolder, "API SERVER", "STATE");
    for (const KnownServer& server : servers) {
        used |= server.state.ends_with("in use");
        list.as_array().push_back(Value::object({{"url", server.url}, {"state", server.state}}));
        if (output.is_text()) std::printf("%-48s %s\n", server.url.c_str(), server.state.c_str());
    }
    if (!output.is_text()) std::fputs(output.document(Value::object({{"servers", std::move(list)}})).c_str(), stdout);
    return used ? 0 : 1;
}

}  // namespace

int run_status(std::vector<std::string> arguments) {
    std::string path = default_data_dir();
    OutputFlag output;
    CLI::App app("Show the cluster on this machine. Exit code 0 if it runs, 1 if not.", "status");
    app.add_option("--data", path, "the cluster's data directory")->capture_default_str();
    output.add_flags(app);
    app.footer(
        "Examples:\n"
        "  porthole status                      state of the cluster, and next steps\n"
        "  porthole status -o json              the same for programs\n"
        "  until porthole status >/dev/null; do sleep 1; done");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    const DataDir data(path);
    const auto cluster = Cluster::load(data);
    if (!cluster) {
        const auto servers = read_server_list(*make_file_system(), AgentFolder);
        return servers ? show_joined_node(*servers, output) : fail(cluster.error().message);
    }
    const auto answers =
        world.run(cluster->options.foreign ? with_timeout(ask_foreign_server(world, data, *cluster), 3s, "asking the server")
                                           : ask_servers(world, data, *cluster));
    Value status = describe(*cluster, data, answers);
    if (cluster->has_several_servers()) {
        if (const auto state = world.run(ask_control_plane(world.loop, data, *cluster)))
            for (const schema::Member& member : to_value(*state).as_object()) status[member.key] = member.value;
    }
    if (!output.is_text()) {
        std::fputs(output.document(status).c_str(), stdout);
    } else {
        print_text(status);
        std::printf("\n%s", next_steps(data, health_of(status, cluster->options.foreign.has_value()), typed_program()).c_str());
    }
    return is_running(cluster->supervisor) ? 0 : 1;
}

}  // namespace porthole::cmd
