#include <cstdio>
#include <set>

#include "api/core_v1.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/client_sightings.h"
#include "local_cluster/hosts/node_identity.h"
#include "local_cluster/state/cluster.h"
#include "local_cluster/state/data_dir.h"
#include "node_join/ca_rotation.h"
#include "node_join/pki.h"
#include "node_join/pki_care.h"
#include "node_join/shared_secrets/shared_secrets.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

using namespace std::chrono_literals;

struct CertsFlags {
    std::string data = default_data_dir();
    std::vector<std::string> names;
    std::string key;
    bool start = false, finish = false, status = false, force = false;
};

SystemTime wall_now() { return std::chrono::system_clock::now(); }

std::string text_of(SystemTime time) { return Timestamp(time).to_string(); }

Result<void> list(const std::filesystem::path& data) {
    const auto folder = DataDir(data).pki();
    TRY(const auto entries, list_certificates(folder));
    std::printf("%-31s %-31s %-20s %-22s %s\n", "NAME", "SUBJECT", "AUTHORITY", "EXPIRES", "LEFT");
    for (const PkiEntry& entry : entries) {
        const bool valid = entry.expires > wall_now();
        std::printf("%-31s %-31s %-20s %-22s %s\n", entry.name.c_str(), entry.subject.c_str(),
                    entry.authority.empty() ? "<itself>" : entry.authority.c_str(), text_of(entry.expires).c_str(),
                    valid ? format_age(entry.expires - wall_now()).c_str() : "<expired>");
    }
    TRY(const KeyRotation rotation, service_account_key_rotation(folder));
    std::printf("\nservice-account-key: %s\n",
                rotation.in_progress ? ("two keys, rotation started " + text_of(rotation.started)).c_str() : "one key");
    TRY(const auto authority, ca_rotation(folder));
    if (authority) std::printf("ca: two authorities, rotation started %s\n", text_of(authority->started).c_str());
    TRY(const auto shared, read_shared_mark(data));
    if (shared) std::puts("authorities and service-account-key: shared with the cluster's other servers, by etcd");
    TRY(const Pki pki, Pki::load(folder));
    if (wall_now() < pki.kubelets_unverified_until)
        std::printf("kubelets: those without a certificate of kubelet-serving-ca are accepted until %s\n",
                    text_of(pki.kubelets_unverified_until).c_str());
    return {};
}

Result<void> renew(const std::filesystem::path& folder, std::vector<std::string> names) {
    if (names == std::vector<std::string>{"all"}) {
        names.clear();
        TRY(const auto entries, list_certificates(folder));
        for (const PkiEntry& entry : entries)
            if (!entry.authority.empty()) names.push_back(entry.name);
    }
    for (const std::string& name : names) {
        TRY_VOID(renew_certificate(folder, name, wall_now()));
        std::printf("%s has been replaced\n", name.c_str());
    }
    std::puts("A running server uses them within a minute.");
    return {};
}

Result<void> rotate(const std::filesystem::path& folder, const CertsFlags& flags) {
    if (flags.start) {
        TRY_VOID(start_service_account_key_rotation(folder, wall_now()));
        std::printf(
            "Both keys are trusted, and a running server signs with the new one within a minute.\n"
            "Pods renew their tokens by themselves. After %s: porthole certs rotate service-account-key --finish\n",
            text_of(wall_now() + PodTokensRenewed).c_str());
        return {};
    }
    TRY_VOID(finish_service_account_key_rotation(folder, wall_now(), flags.force));
    std::puts("The previous key has been removed. Tokens that it signed end within a minute.");
    return {};
}

/// What only the running cluster knows, for finish_blockers().
struct ClusterView {
    std::vector<std::string> nodes;
    bool published = true;
};

Task<ClusterView> look_at_cluster(client::Client& client, std::string ca_pem) {
    ClusterView view;
    CO_TRY(const auto nodes, co_await client.list<api::core::v1::Node>());
    for (const auto& node : nodes.items) view.nodes.push_back(node.metadata.name);
    CO_TRY(const auto namespaces, co_await client.list<api::core::v1::Namespace>());
    CO_TRY(const auto maps, co_await client.list<api::core::v1::ConfigMap>({.field_selector = "metadata.name=kube-root-ca.crt"}));
    std::set<std::string> told;
    for (const auto& map : maps.items) {
        const auto found = map.data.find("ca.crt");
        if (found != map.data.end() && found->second == ca_pem) told.insert(map.metadata.namespace_);
    }
    for (const auto& space : namespaces.items)
        view.published = view.published && (space.metadata.deletion_timestamp || told.contains(space.metadata.name));
    co_return view;
}

/// Error: Unavailable where the cluster does not answer.
Result<std::vector<std::string>> blockers_of(const std::string& data, const CaRotation& rotation) {
    RealWorld world;
    const auto folder = DataDir(data).pki();
    TRY(const Pki pki, Pki::load(folder));
    TRY(const auto admin, connect_as_admin(world.loop, "", data));
    TRY(const ClusterView view, world.run(with_timeout(look_at_cluster(admin->client, pki.ca_pem), 20s, "asking the cluster")));
    TRY(const ClientSightings sightings, read_client_sightings(DataDir(data)));
    return finish_blockers(rotation, sightings, view.nodes, view.published, wall_now());
}

Result<void> show_ca_rotation(const std::string& data) {
    const auto folder = DataDir(data).pki();
    TRY(const auto rotation, ca_rotation(folder));
    if (!rotation) {
        std::puts("ca: one authority, no rotation in progress");
        return {};
    }
    std::printf("ca: two authorities, rotation started %s\n\n", text_of(rotation->started).c_str());
    TRY(const ClientSightings sightings, read_client_sightings(DataDir(data)));
    std::printf("%-48s %-10s %s\n", "CLIENT", "AUTHORITY", "LAST SEEN");
    for (const auto& [name, seen] : sightings)
        std::printf("%-48s %-10s %s\n", name.c_str(), seen.authority == rotation->previous ? "old" : "new", text_of(seen.time).c_str());
    TRY(const auto blockers, blockers_of(data, *rotation));
    std::puts(blockers.empty() ? "\nNothing depends on the old authority: porthole certs rotate ca --finish"
                               : "\nThe old authority is still needed for:");
    for (const std::string& blocker : blockers) std::printf("- %s\n", blocker.c_str());
    return {};
}

/// Nodes of `porthole up` that have not followed need not be lost.
Result<void> show_refused_nodes(const DataDir& data) {
    const auto cluster = Cluster::load(data);
    if (!cluster || !is_running(cluster->supervisor)) return {};  // the next start sees to it
    TRY(const Pki pki, Pki::load(data.pki()));
    const auto names = refused_nodes(data, *cluster, pki.ca_pem, wall_now());
    if (!names.empty())
        std::printf("%s still had certificates of the old authority; this gives them and kubectl new ones: porthole up --detach%s\n",
                    join(names, ", ").c_str(), data.flag().c_str());
    return {};
}

Result<void> finish_ca(const CertsFlags& flags) {
    const DataDir data(flags.data);
    const auto folder = data.pki();
    TRY(const auto rotation, ca_rotation(folder));
    TRY(const auto shared, read_shared_mark(data.root()));
    std::error_code code;  // the servers of `up --servers 3` are all on this machine, and their clients are known
    if (rotation && shared && !flags.force && !std::filesystem::exists(data.further_servers(), code))
        return Error(
            Reason::Conflict,
            "several servers share this authority, and each knows only its own clients: run `porthole certs rotate ca "
            "--status` on each server's machine until none lists a client with a certificate of the old authority, then add --force "
            "here");
    if (rotation && !flags.force) {
        TRY(const auto blockers, blockers_of(flags.data, *rotation));
        std::string why;
        for (const std::string& blocker : blockers) why += "\n- " + blocker;
        if (!blockers.empty())
            return Error(Reason::Conflict,
                         "the old authority is still needed; wait, or use --force, which disconnects these clients:" + why);
    }
    TRY_VOID(finish_ca_rotation(folder));
    std::puts("The old authority has been removed. A running server refuses its certificates within a minute.");
    return show_refused_nodes(data);
}

Result<void> rotate_ca(const CertsFlags& flags) {
    if (flags.status) return show_ca_rotation(flags.data);
    if (flags.finish) return finish_ca(flags);
    const DataDir data(flags.data);
    TRY_VOID(start_ca_rotation(data.pki(), wall_now()));
    const std::string of = data.flag();
    std::printf(
        "Both authorities are trusted, and a running server serves and signs with the new one within a minute. Nodes follow "
        "automatically.\n"
        "Then, for this machine's kubectl: porthole kubeconfig --merge%s. For other users, distribute the output of `porthole "
        "kubeconfig%s`.\n"
        "Then: porthole certs rotate ca --status%s, and finally --finish\n",
        of.c_str(), of.c_str(), of.c_str());
    return {};
}

void define_certs_command(CLI::App& app, CertsFlags& flags) {
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--data", flags.data, "data directory of the cluster")->capture_default_str();
    app.footer(
        "You need not renew anything yourself: the server renews its certificates in the last third of their life, and nodes renew "
        "theirs.\n"
        "Certificates and keys are files in the directory pki in the data directory. A running server loads changes to these files. "
        "Servers\n"
        "that share them (`porthole server --server-token-file`) also load each other's changes: run this command on one machine only.\n"
        "\n"
        "Examples:\n"
        "  porthole certs list\n"
        "  porthole certs renew admin                          then distribute the output of `porthole kubeconfig`\n"
        "  porthole certs rotate ca --start                    two steps, see its --help\n"
        "  porthole certs rotate service-account-key --start   likewise");
    app.add_subcommand("list", "show names, subjects, authorities and expiry, and rotations in progress");
}

void define_renew_command(CLI::App& app, CertsFlags& flags) {
    CLI::App* command = app.add_subcommand("renew", "replace certificates with new ones that have new keys");
    command->add_option("names", flags.names, "names from `porthole certs list`, or all")->required();
    command->footer(
        "Renewing does not revoke: the old certificate stays valid until it expires. Authorities cannot be renewed.\n"
        "A renewed admin certificate is written to admin.kubeconfig by the running server.");
}

void define_rotate_command(CLI::App& app, CertsFlags& flags) {
    CLI::App* command = app.add_subcommand("rotate", "replace a key, in two steps without downtime");
    command->add_option("key", flags.key, "service-account-key, which signs the tokens of pods, or ca, which signs certificates")
        ->required()
        ->check(CLI::IsMember({"service-account-key", "ca"}));
    CLI::Option* start = command->add_flag("--start", flags.start, "create a new key, which signs from now on; both keys are valid");
    CLI::Option* status = command->add_flag("--status", flags.status, "show which clients still need the previous authority (ca only)");
    CLI::Option* finish = command->add_flag("--finish", flags.finish, "remove the previous key; anything it signed becomes invalid");
    start->excludes(finish);
    status->excludes(start, finish);
    command->add_flag("--force", flags.force, "finish even if something signed by the previous key may be in use")->needs(finish);
    command->footer(
        "States and steps of ca:\n"
        "  one authority    --start    a second authority is created. Both are trusted; the server serves and signs with the new one. It "
        "also\n"
        "                              presents the new authority's certificate signed by the old one, for clients that know only the old "
        "one.\n"
        "  two authorities  wait       nodes trust both and renew their certificates; pods get both in kube-root-ca.crt; kubeconfigs\n"
        "                              have to be distributed again. --status shows the authority of each client's newest certificate.\n"
        "  two authorities  --finish   the old authority is removed. Refused while something still depends on it, unless --force is "
        "given.\n"
        "                              `porthole up` gives nodes of its own that had not followed another certificate.\n"
        "States and steps of service-account-key:\n"
        "  one key          --start    a second key is created and signs from now on. Tokens of both are valid, and /openid/v1/jwks has\n"
        "                              both, for services that verify tokens themselves.\n"
        "  two keys         wait       kubelets renew the tokens of running pods within a day. Tokens in Secrets of the type\n"
        "                              kubernetes.io/service-account-token do not change: delete the key `token` of their data\n"
        "                              and a new one is written.\n"
        "  two keys         --finish   the previous key is removed. Refused for 25 hours after the start, unless --force is given:\n"
        "                              use that when the key has been stolen; pods that call the API fail until their token is renewed.");
}

}  // namespace

int run_certs(std::vector<std::string> arguments) {
    CertsFlags flags;
    CLI::App app("List, renew and rotate the certificates and keys of the cluster whose control plane is on this machine.", "certs");
    define_certs_command(app, flags);
    define_renew_command(app, flags);
    define_rotate_command(app, flags);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    const bool of_ca = flags.key == "ca";
    const bool rotates = app.got_subcommand("rotate");
    if (rotates && !flags.start && !flags.finish && !(of_ca && flags.status)) {
        std::fprintf(stderr, "porthole certs rotate: %s is needed; see `porthole certs rotate --help`\n",
                     of_ca ? "one of --start, --status and --finish" : "one of --start and --finish");
        return 2;
    }

    const auto folder = DataDir(flags.data).pki();
    Result<void> done;
    if (app.got_subcommand("list")) done = list(DataDir(flags.data).root());
    if (app.got_subcommand("renew")) done = renew(folder, flags.names);
    if (rotates) done = of_ca ? rotate_ca(flags) : rotate(folder, flags);
    return done ? 0 : fail(done.error().message);
}

}  // namespace porthole::cmd
