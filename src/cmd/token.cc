#include <cstdio>

#include "api/core_v1.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/state/cluster.h"
#include "local_cluster/state/data_dir.h"
#include "net/tls/x509.h"
#include "node_join/bootstrap_token.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

using api::core::v1::Secret;
using namespace std::chrono_literals;

struct TokenFlags {
    std::string data = default_data_dir(), kubeconfig, ttl = "24h", description, output;
    bool print_join_command = false;
    std::vector<std::string> tokens;
};

/// "24h", "90m"; "0" never ends. Error: BadRequest.
Result<std::optional<std::chrono::nanoseconds>> parse_ttl(const std::string& text) {
    if (text == "0") return std::optional<std::chrono::nanoseconds>();
    auto duration = parse_duration(text);
    if (!duration || *duration <= 0ns)
        return Error(Reason::BadRequest, "--ttl: \"" + text + "\" is not a valid duration; write it like 24h, or 0 for no expiry");
    return std::optional(*duration);
}

/// What other machines join by. Where a cluster of this machine has several servers, the kubeconfig names a balancer that only this machine
/// reaches.
std::string join_address(const AdminClient& admin, const TokenFlags& flags) {
    const auto cluster = Cluster::load(DataDir(flags.data));
    const bool of_data = flags.kubeconfig.empty() && cluster && cluster->has_several_servers();
    return of_data ? join(cluster->server_urls(), ",") : admin.server;
}

Task<> create(RealWorld& world, AdminClient& admin, TokenFlags flags) {
    CO_TRY(const auto ttl, parse_ttl(flags.ttl));
    std::optional<SystemTime> expires;
    if (ttl) expires = world.loop.wall_now() + *ttl;
    CO_TRY(const std::string token, co_await create_bootstrap_token(admin.client, expires, flags.description));
    if (!flags.print_join_command) {
        std::puts(token.c_str());
        co_return {};
    }
    CO_TRY(const auto ca, net::parse_certificate(admin.ca_pem));
    std::printf("porthole join %s --token %s --ca-cert-hash sha256:%s\n", join_address(admin, flags).c_str(), token.c_str(),
                net::to_hex(net::sha256(ca.public_der)).c_str());
    co_return {};
}

std::string datum(const Secret& secret, const char* key) {
    const auto found = secret.data.find(key);
    return found == secret.data.end() ? "" : found->second;
}

Task<> list(RealWorld& world, AdminClient& admin) {
    CO_TRY(const auto secrets, co_await admin.client.list<Secret>(
                                   {.namespace_ = BootstrapTokenNamespace, .field_selector = "type=bootstrap.kubernetes.io/token"}));
    std::printf("%-25s %-10s %-22s %s\n", "TOKEN", "LEFT", "EXPIRES", "DESCRIPTION");
    for (const Secret& secret : secrets.items) {
        const std::string expires = datum(secret, "expiration");
        const auto until = Timestamp::parse(expires);
        const std::string left = until ? format_age(until->to_system_time() - world.loop.wall_now()) : "<forever>";
        std::printf("%-25s %-10s %-22s %s\n", (datum(secret, "token-id") + "." + datum(secret, "token-secret")).c_str(), left.c_str(),
                    expires.empty() ? "<never>" : expires.c_str(), datum(secret, "description").c_str());
    }
    co_return {};
}

Task<> remove(AdminClient& admin, std::vector<std::string> tokens) {
    for (const std::string& token : tokens) {
        const std::string id = token.substr(0, token.find('.'));
        const auto removed = co_await remove_bootstrap_token(admin.client, token);
        if (!removed && removed.error().reason == Reason::NotFound)
            co_return Error(Reason::NotFound, "there is no token " + id + "; `porthole token list` lists them");
        CO_TRY_VOID(removed);
        std::printf("token %s deleted\n", id.c_str());
    }
    co_return {};
}

}  // namespace

int run_token(std::vector<std::string> arguments) {
    TokenFlags flags;
    CLI::App app("Create, list and delete the tokens that nodes join with.", "token");
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--data", flags.data, "data directory of the cluster on this machine")->capture_default_str();
    app.add_option("--kubeconfig", flags.kubeconfig, "kubeconfig of another cluster's administrator");
    CLI::App* create_command = app.add_subcommand("create", "create a token and print it");
    create_command->add_option("--ttl", flags.ttl, "lifetime of the token, for example 2h; 0: it does not expire")->capture_default_str();
    create_command->add_option("--description", flags.description, "description for people who list the tokens");
    create_command->add_flag("--print-join-command", flags.print_join_command, "print the command that joins a node with it");
    create_command->footer(
        "Examples:\n"
        "  porthole token create --print-join-command         for one day\n"
        "  porthole token create --ttl 1h --description rack-7\n"
        "On Windows the printed line begins with porthole.exe; its words are the same.");
    CLI::App* list_command = app.add_subcommand("list", "show all tokens");
    CLI::App* delete_command = app.add_subcommand("delete", "delete tokens");
    delete_command->add_option("tokens", flags.tokens, "tokens or their ids")->required();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    auto admin = connect_as_admin(world.loop, flags.kubeconfig, flags.data);
    if (!admin) return fail(admin.error().message);
    Result<void> done;
    if (create_command->parsed()) done = world.run(create(world, **admin, flags));
    if (list_command->parsed()) done = world.run(list(world, **admin));
    if (delete_command->parsed()) done = world.run(remove(**admin, flags.tokens));
    return done ? 0 : fail(done.error().message);
}

}  // namespace porthole::cmd
