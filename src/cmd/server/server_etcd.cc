#include "cmd/server/server_etcd.h"

#include <charconv>

#include "apiserver/etcd_form/data_version.h"
#include "apiserver/etcd_form/etcd_form.h"
#include "apiserver/migration/transfer_form.h"
#include "base/time/time.h"
#include "cmd/server/cluster_authority.h"
#include "runtime/files/durable_file.h"
#include "store/etcd/etcd_store.h"

namespace porthole::cmd {
namespace {

using store::etcd::Member;

struct MemberUrl {
    bool tls = false;
    net::Endpoint endpoint;
};

/// "https://10.0.0.1:2379", "http://[::1]:2379".
Result<MemberUrl> parse_url(const std::string& text) {
    const Error wrong(Reason::BadRequest, "--etcd-servers: " + text + " is not a URL such as https://10.0.0.1:2379");
    MemberUrl url;
    std::string_view rest = text;
    url.tls = rest.starts_with("https://");
    if (!url.tls && !rest.starts_with("http://")) return wrong;
    rest.remove_prefix(rest.find("//") + 2);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    const std::size_t colon = rest.rfind(':');
    if (colon == rest.npos || colon == 0) return wrong;
    std::string_view host = rest.substr(0, colon), port = rest.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), url.endpoint.port);
    if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size() || url.endpoint.port == 0) return wrong;
    if (host.empty() || host.find_first_of("/@?# ") != host.npos) return wrong;
    url.endpoint.host = std::string(host);
    return url;
}

Result<std::string> read_option_file(const char* flag, const std::string& path) {
    if (path.empty()) return std::string();
    auto text = read_file(path);
    if (!text) return std::move(text).error().with_context(flag);
    return text;
}

Result<std::shared_ptr<const net::TlsClientContext>> tls_of(const EtcdFlags& flags) {
    TRY(const std::string ca, read_option_file("--etcd-cafile", flags.ca_file));
    TRY(const std::string certificate, read_option_file("--etcd-certfile", flags.certificate_file));
    TRY(const std::string key, read_option_file("--etcd-keyfile", flags.key_file));
    auto tls = net::TlsClientContext::create({.ca_pem = ca, .certificate_pem = certificate, .key_pem = key});
    if (!tls) return std::move(tls).error().with_context("--etcd-cafile, --etcd-certfile and --etcd-keyfile");
    return tls;
}

Result<std::vector<Member>> members_of(RealWorld& world, const EtcdFlags& flags) {
    std::shared_ptr<const net::TlsClientContext> tls;
    std::vector<Member> members;
    for (const std::string& text : flags.servers) {
        TRY(const MemberUrl url, parse_url(text));
        if (url.tls && !tls) {
            TRY(tls, tls_of(flags));
        }
        if (!url.tls && !(flags.ca_file + flags.certificate_file + flags.key_file).empty())
            return Error(Reason::BadRequest, "--etcd-servers: " + text +
                                                 " is not encrypted: write https://, or leave --etcd-cafile, --etcd-certfile and "
                                                 "--etcd-keyfile out");
        members.push_back({.name = text,
                           .dial = net::grpc_dial(world.loop, url.endpoint, url.tls ? tls : nullptr),
                           .scheme = url.tls ? "https" : "http",
                           .authority = net::host_and_port(url.endpoint.host, url.endpoint.port)});
    }
    return members;
}

/// Nothing has been written yet.
Result<void> check_contents(const store::Store& store, const std::string& authorities) {
    if (const auto version = store.get(apiserver::DataVersionKey)) TRY_VOID(apiserver::check_data_version(*version->value.bytes()));
    if (store.get(apiserver::CopyMark))
        return Error(Reason::Conflict,
                     "etcd has an unfinished copy of a cluster, not a whole one: run `porthole store migrate` again, or delete "
                     "what is below --etcd-prefix");
    const auto root_ca = store.get(RootCaKey);
    return root_ca && !authorities.empty() ? check_authority(*root_ca->value.bytes(), authorities) : Result<void>();
}

Task<std::unique_ptr<store::Store>> open_store(store::Store::Seams seams, std::vector<Member> members,
                                               std::shared_ptr<store::etcd::StoredForm> form, store::AttributesOf attributes_of,
                                               store::etcd::EtcdStoreOptions options, std::string authorities) {
    auto opened = co_await store::etcd::open_etcd_store(std::move(seams), std::move(members), std::move(form), std::move(attributes_of),
                                                        std::move(options));
    if (!opened) co_return explain_etcd_error(std::move(opened).error());
    const auto usable = check_contents(**opened, authorities);
    if (usable) co_return std::move(opened);
    CO_TRY_VOID(co_await (*opened)->close());
    co_return usable.error();
}

}  // namespace

Error explain_etcd_error(Error error) {
    const std::string& message = error.message;
    std::string remedy;
    const bool closed = message.find("connection closed by the peer") != message.npos || message.find("reset by peer") != message.npos;
    const bool asks_for_certificate =
        message.find("alert bad certificate") != message.npos || message.find("alert certificate required") != message.npos;
    if (asks_for_certificate)
        remedy = "it requires a client certificate that it trusts: --etcd-certfile and --etcd-keyfile";
    else if (message.find("tls: wrong version number") != message.npos)
        remedy = "is it a member's port for clients, and encrypted? Else write http://";
    else if (closed && message.find("http://") != message.npos)
        remedy = "is it encrypted? Then write https://, with --etcd-cafile";
    else if (message.find("etcdserver: no leader") != message.npos)
        remedy = "more than half of etcd's members must be running";
    else if (message.find("tls: ") != message.npos)
        remedy = "check --etcd-cafile, --etcd-certfile and --etcd-keyfile";
    else if (message.find("gRPC: response without a status") != message.npos || message.find("preface") != message.npos)
        remedy = "is it an etcd (v3) that answers at --etcd-servers?";
    else if (error.reason == Reason::ServiceUnavailable)
        remedy = "check --etcd-servers, and whether etcd runs";
    if (!remedy.empty()) error.message += ": " + remedy;
    return error;
}

CLI::Option* add_etcd_access_flags(CLI::App& app, EtcdFlags& flags) {
    CLI::Option* servers =
        app.add_option("--etcd-servers", flags.servers,
                       "URLs of the etcd that stores the cluster's state, separated by commas (default: the data directory stores it)")
            ->delimiter(',');
    app.add_option("--etcd-cafile", flags.ca_file,
                   "file of the authority that signed etcd's certificates (default: the system's authorities)")
        ->needs(servers);
    CLI::Option* certificate =
        app.add_option("--etcd-certfile", flags.certificate_file, "file of the client certificate for etcd")->needs(servers);
    CLI::Option* key =
        app.add_option("--etcd-keyfile", flags.key_file, "file of that certificate's key")->needs(servers)->needs(certificate);
    certificate->needs(key);
    app.add_option("--etcd-prefix", flags.prefix, "prefix of all keys in etcd")->needs(servers)->capture_default_str();
    return servers;
}

CLI::Option* add_etcd_flags(CLI::App& app, EtcdFlags& flags) {
    CLI::Option* servers = add_etcd_access_flags(app, flags);
    app.add_option("--etcd-compaction-interval", flags.compaction_interval,
                   "how often etcd's history is compacted; entries younger than this are kept; 0: never")
        ->needs(servers)
        ->capture_default_str();
    return servers;
}

Result<EtcdAccess> etcd_access(RealWorld& world, const EtcdFlags& flags) {
    EtcdAccess access{.members = {}, .prefix = flags.prefix};
    while (access.prefix.ends_with('/')) access.prefix.pop_back();
    if (!access.prefix.starts_with('/')) return Error(Reason::BadRequest, "--etcd-prefix: it begins with \"/\", and is not \"/\" alone");
    TRY(access.members, members_of(world, flags));
    return access;
}

Result<apiserver::ApiServer::OpenStore> etcd_store_opener(RealWorld& world, const EtcdFlags& flags,
                                                          std::shared_ptr<apiserver::StorageEncryption> encryption, std::string authorities,
                                                          Logger log) {
    TRY(EtcdAccess access, etcd_access(world, flags));
    store::etcd::EtcdStoreOptions options{.prefix = std::move(access.prefix)};
    auto interval = parse_duration(flags.compaction_interval);
    if (!interval) return std::move(interval).error().with_context("--etcd-compaction-interval");
    if (*interval < Duration::zero()) return Error(Reason::BadRequest, "--etcd-compaction-interval: it must not be negative");
    options.compact_every = *interval;
    auto form = apiserver::make_etcd_form(std::move(encryption), options.prefix);
    return [&world, members = std::move(access.members), options = std::move(options), form = std::move(form),
            authorities = std::move(authorities), log = std::move(log)](store::AttributesOf attributes_of) {
        return open_store({world.loop, *world.pool, log}, members, form, std::move(attributes_of), options, authorities);
    };
}

}  // namespace porthole::cmd
