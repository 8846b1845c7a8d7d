#include "cmd/doctor/gather.h"

#include <sys/stat.h>

#include "base/base64.h"
#include "base/result.h"
#include "base/time/time.h"
#include "local_cluster/hosts/host_files.h"
#include "net/tls/x509.h"
#include "runtime/files/durable_file.h"
#include "schema/json/json.h"

namespace porthole::cmd::doctor {
namespace {

namespace fs = std::filesystem;
using schema::Value;
using Kind = FileFact::Kind;

constexpr const char* Structured =
    "application/json;v=v1beta1;g=config.k8s.io;as=Flagz,application/json;v=v1alpha1;g=config.k8s.io;as=Flagz";
/// From what everyone may read to what nobody may.
constexpr const char* AnonymousPaths[] = {"/healthz", "/version", "/api", "/metrics", "/flagz", "/api/v1/namespaces", "/api/v1/secrets"};
/// A node that has just joined serves a moment later, once its serving certificate has been signed.
constexpr Duration JoiningTime = std::chrono::minutes(1), PatienceWithNewNodes = std::chrono::seconds(20),
                   BetweenQuestions = std::chrono::milliseconds(500);
constexpr const char* LastUsed = "kubernetes.io/legacy-token-last-used";

Task<> read_flags(client::Client& client, Evidence& into) {
    const auto answer = co_await client.get_raw("/flagz", "", Structured);
    if (is_cancelled(answer)) co_return answer.error();
    const auto document = answer ? schema::parse_json(**answer) : Result<Value>(answer.error());
    const Value* flags = document ? document->find("flags") : nullptr;
    if (!flags || !flags->is_object()) {
        into.server_flags_error = "the server does not report its settings" + (document ? std::string() : ": " + document.error().message);
        co_return {};
    }
    auto& told = into.server_flags.emplace();
    for (const auto& member : flags->as_object()) told[member.key] = member.value.string_or("");
    co_return {};
}

Task<> ask_anonymously(client::Transport& anonymous, Evidence& into) {
    for (const char* path : AnonymousPaths) {
        CO_TRY(const client::ApiResponse answer,
               co_await anonymous.call({.method = "GET", .path = path, .query = "limit=1", .accept = "*/*"}));
        into.anonymous.push_back({path, answer.code});
    }
    co_return {};
}

Task<KubeletFact> ask_once(client::Client& client, core::Node node) {
    const auto label = [&](const char* name) {
        const auto found = node.metadata.labels.find(name);
        return found == node.metadata.labels.end() ? std::string() : found->second;
    };
    KubeletFact fact{.node = node.metadata.name, .windows = label("kubernetes.io/os") == "windows", .configuration = {}, .error = {}};
    const auto answer = co_await client.get_raw("/api/v1/nodes/" + node.metadata.name + "/proxy/configz");
    if (is_cancelled(answer)) co_return answer.error();
    const auto document = answer ? schema::parse_json(**answer) : Result<Value>(answer.error());
    const Value* configuration = document ? document->find("kubeletconfig") : nullptr;
    if (configuration) {
        fact.configuration = *configuration;
    } else {
        fact.error = document ? "its answer is not a configuration" : document.error().message;
    }
    co_return fact;
}

/// Until `deadline` again and again, where the node has just joined.
Task<KubeletFact> ask_kubelet(EventLoop& loop, client::Client& client, core::Node node, MonotonicTime deadline) {
    for (;;) {
        CO_TRY(KubeletFact fact, co_await ask_once(client, node));
        const bool joining = loop.wall_now() - node.metadata.creation_timestamp.to_system_time() < JoiningTime;
        if (fact.configuration || !joining) co_return fact;
        if (loop.now() >= deadline) {
            fact.error += "; the node joined less than a minute ago";
            co_return fact;
        }
        CO_TRY_VOID(co_await loop.sleep(BetweenQuestions));
    }
}

template <class T>
Task<> read_all(client::Client& client, std::vector<T>& into) {
    CO_TRY(auto list, co_await client.list<T>());
    into = std::move(list.items);
    co_return {};
}

std::string value_at(const std::map<std::string, std::string>& map, const char* key) {
    const auto found = map.find(key);
    return found == map.end() ? "" : found->second;
}

/// Secrets of one type; what they hold is not asked for.
Task<> read_account_tokens(client::Client& client, Evidence& into) {
    CO_TRY(const net::Bytes reply,
           co_await client.list_raw(core::Secret::kind(), {.field_selector = "type=kubernetes.io/service-account-token"}, true));
    CO_TRY(const client::ListSlices slices, client::slice_list(*reply));
    for (const std::string_view item : slices.items) {
        CO_TRY(const core::Secret secret, schema::decode_json<core::Secret>(item));
        into.account_tokens.push_back({.namespace_ = secret.metadata.namespace_,
                                       .name = secret.metadata.name,
                                       .account = value_at(secret.metadata.annotations, "kubernetes.io/service-account.name"),
                                       .created = secret.metadata.creation_timestamp.to_system_time(),
                                       .expires = {},
                                       .last_used = value_at(secret.metadata.labels, LastUsed)});
    }
    co_return {};
}

Task<> read_bootstrap_tokens(client::Client& client, Evidence& into) {
    CO_TRY(const auto list,
           co_await client.list<core::Secret>({.namespace_ = "kube-system", .field_selector = "type=bootstrap.kubernetes.io/token"}));
    for (const core::Secret& secret : list.items) {
        TokenSecret token{.namespace_ = secret.metadata.namespace_,
                          .name = secret.metadata.name,
                          .account = {},
                          .created = secret.metadata.creation_timestamp.to_system_time(),
                          .expires = {},
                          .last_used = {}};
        if (const auto found = secret.data.find("expiration"); found != secret.data.end()) {
            if (const auto time = Timestamp::parse(found->second)) token.expires = time->to_system_time();
        }
        into.bootstrap_tokens.push_back(std::move(token));
    }
    co_return {};
}

/// What a name of the folder pki holds.
std::optional<Kind> kind_of(const fs::path& file) {
    if (file.extension() == ".key") return Kind::Key;
    if (file.extension() == ".crt") return Kind::Certificate;
    return std::nullopt;
}

Result<void> add_file(HostFacts& facts, Kind kind, const fs::path& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) {
        if (errno == ENOENT) return {};
        return Error(errno == EACCES ? Reason::Forbidden : Reason::Io, "cannot read " + path.string() + "; run it as root");
    }
    facts.files.push_back({kind, path, found.st_mode & 07777, found.st_uid, found.st_gid});
    return {};
}

Result<void> add_certificate(HostFacts& facts, const fs::path& path) {
    TRY(const std::string pem, read_file(path));
    auto info = net::parse_certificate(pem);
    if (!info) return std::move(info).error().with_context(path.string());
    facts.certificates.push_back({path.stem().string(), info->is_ca, info->not_before, info->not_after, info->key_kind, info->key_bits});
    return {};
}

/// The files of a folder, which may be missing.
Result<std::vector<fs::path>> files_of(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.is_regular_file()) files.push_back(entry.path());
    if (error && error != std::errc::no_such_file_or_directory)
        return Error(Reason::Forbidden, "cannot read " + folder.string() + ": " + error.message() + "; run it as root");
    return files;
}

/// Of a host that runs, as its administrator sees it: for that one, root of the host is root.
void add_emulated_host(HostFacts& facts, const fs::path& node) {
    const local_cluster::HostFiles files(node);
    const auto root = files.root_user();
    if (!root) return;
    facts.emulated_hosts.push_back({node.filename().string(), *root});
    const auto authority = files.credential_status("ca.crt");
    if (!authority) return;
    const auto seen = [&](std::uint32_t id) { return id == *root ? 0 : id; };
    facts.files.push_back(
        {Kind::AuthorityFile, files.credential_path("ca.crt"), authority->mode, seen(authority->uid), seen(authority->gid)});
}

Result<void> add_nodes(HostFacts& facts, const fs::path& nodes) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(nodes, error)) {
        const fs::path node = entry.path();
        TRY_VOID(add_file(facts, Kind::Kubeconfig, node / "kubeconfig"));
        // Files of an emulated host's C: have Windows' access lists, which Wine shows as other modes; the folder above them is root's.
        TRY_VOID(add_file(facts, Kind::NodeIdentity, node / "client.pem"));
        add_emulated_host(facts, node);
        TRY(const auto networks, files_of(node / "cni/net.d"));
        for (const fs::path& file : networks) TRY_VOID(add_file(facts, Kind::CniConfiguration, file));
    }
    return {};
}

/// `renewed`: the certificates are ones that end, and are to be renewed in time.
Result<void> add_keys(HostFacts& facts, const fs::path& folder, bool renewed = true) {
    TRY_VOID(add_file(facts, Kind::PkiFolder, folder));
    TRY(const auto files, files_of(folder));
    for (const fs::path& file : files) {
        const auto kind = kind_of(file);
        if (!kind) continue;
        TRY_VOID(add_file(facts, *kind, file));
        if (renewed && *kind == Kind::Certificate) TRY_VOID(add_certificate(facts, file));
    }
    return {};
}

/// Of `up --servers 3`: the members of its etcd, and further servers.
Result<void> add_servers(HostFacts& facts, const fs::path& data) {
    std::error_code error;
    facts.has_own_etcd = fs::exists(data / "etcd/pki/ca.crt", error);
    TRY_VOID(add_keys(facts, data / "etcd/pki", false));  // they hold as long as their authority, whose key is gone
    TRY_VOID(add_file(facts, Kind::StoreFolder, data / "etcd"));
    for (const auto& entry : fs::directory_iterator(data / "etcd", error))
        if (entry.path().filename() != "pki") TRY_VOID(add_file(facts, Kind::StoreFolder, entry.path()));
    for (const auto& entry : fs::directory_iterator(data / "api-servers", error)) {
        TRY_VOID(add_keys(facts, entry.path() / "pki"));
        TRY_VOID(add_file(facts, Kind::Kubeconfig, entry.path() / "admin.kubeconfig"));
    }
    return add_file(facts, Kind::Key, data / "server-token");
}

}  // namespace

bool is_system_namespace(const std::string& name) { return name == "kube-system" || name == "kube-public" || name == "kube-node-lease"; }

Task<Evidence> gather(EventLoop& loop, client::Client& client, client::Transport& anonymous) {
    Evidence evidence;
    evidence.now = loop.wall_now();
    CO_TRY_VOID(co_await read_flags(client, evidence));
    CO_TRY_VOID(co_await ask_anonymously(anonymous, evidence));
    CO_TRY_VOID(co_await read_all(client, evidence.cluster_roles));
    CO_TRY_VOID(co_await read_all(client, evidence.roles));
    CO_TRY_VOID(co_await read_all(client, evidence.cluster_role_bindings));
    CO_TRY_VOID(co_await read_all(client, evidence.role_bindings));
    CO_TRY_VOID(co_await read_all(client, evidence.namespaces));
    CO_TRY_VOID(co_await read_all(client, evidence.service_accounts));
    CO_TRY_VOID(co_await read_all(client, evidence.pods));
    CO_TRY_VOID(co_await read_all(client, evidence.network_policies));
    CO_TRY_VOID(co_await read_account_tokens(client, evidence));
    CO_TRY_VOID(co_await read_bootstrap_tokens(client, evidence));
    CO_TRY(auto nodes, co_await client.list<core::Node>());
    const MonotonicTime deadline = loop.now() + PatienceWithNewNodes;
    for (core::Node& node : nodes.items) {
        CO_TRY(KubeletFact fact, co_await ask_kubelet(loop, client, std::move(node), deadline));
        evidence.kubelets.push_back(std::move(fact));
    }
    co_return evidence;
}

Result<HostFacts> gather_host(const fs::path& data, const std::string& audit_log) {
    HostFacts facts;
    TRY_VOID(add_keys(facts, data / "pki"));
    TRY_VOID(add_servers(facts, data));
    TRY_VOID(add_file(facts, Kind::StoreFolder, data / "store"));
    TRY(const auto store, files_of(data / "store"));
    for (const fs::path& file : store) TRY_VOID(add_file(facts, Kind::StoreFile, file));
    TRY_VOID(add_file(facts, Kind::Kubeconfig, data / "admin.kubeconfig"));
    if (!audit_log.empty()) TRY_VOID(add_file(facts, Kind::AuditLog, audit_log));
    TRY_VOID(add_nodes(facts, data / "nodes"));
    return facts;
}

}  // namespace porthole::cmd::doctor
