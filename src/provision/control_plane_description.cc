#include "provision/control_plane_description.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/validation/names.h"
#include "base/values/ip.h"
#include "local_cluster/description/description.h"
#include "local_cluster/description/description_fields.h"
#include "provision/host_fields.h"

namespace porthole::provision {
namespace {

using local_cluster::ClusterOptions;
using local_cluster::Fields;
using local_cluster::wrong;
using schema::Value;

constexpr std::size_t MostServers = 9, MostUrls = 20;
constexpr const char* FieldsOfEtcd[] = {"etcdCaFile", "etcdCertFile", "etcdKeyFile", "serverTokenFile"};

/// What describes a cluster on one machine has no meaning here; ignoring it would look like obeying it.
Result<void> check_is_not_for_up(const Fields& spec) {
    const auto refuse = [](const Fields& fields, const char* name) {
        return fields.value().find(name) ? Result<void>(wrong(fields.at(name), "is for `porthole up`; with controlPlane it has no meaning"))
                                         : Result<void>();
    };
    TRY_VOID(refuse(spec, "hardened"));
    TRY_VOID(refuse(spec, "wineRoot"));
    if (spec.value().find("apiServer")) TRY_VOID(refuse(spec.inner("apiServer"), "servers"));
    if (spec.value().find("network")) TRY_VOID(refuse(spec.inner("network"), "nodes"));
    TRY(const auto pools, local_cluster::read_pool_list(spec));
    for (const Fields& pool : pools)
        if (!pool.value().find("hosts")) return wrong(pool.path(), "has no hosts: with controlPlane, nodes are machines reached by SSH");
    return {};
}

Result<std::vector<MachineDescription>> read_hosts(const Fields& fields, const DescriptionPlace& place) {
    MachineDescription defaults;
    defaults.ssh.user = "root";
    std::string os = "linux";
    TRY_VOID(fields.read("os", os));
    if (os != "linux") return wrong(fields.at("os"), "must be linux: no other system runs the control plane");
    TRY_VOID(read_target(fields, place, defaults.ssh));
    const Value* named = fields.value().find("hosts");
    if (named && named->is_array() && named->as_array().empty())
        return wrong(fields.at("hosts"), "is empty: the last server is not removed, because the cluster's data would be lost");
    TRY(const auto items, fields.list("hosts", MostServers));
    std::vector<MachineDescription> hosts;
    for (const Fields& item : items) {
        TRY(MachineDescription host, read_host(item, place, defaults));
        const auto address = IpAddress::parse(host.ssh.address);
        if (!address || !address->is_v4() || !address->is_global_unicast())
            return wrong(item.at("address"), "must be an IPv4 address at which nodes reach the server");
        hosts.push_back(std::move(host));
    }
    return hosts;
}

/// `etcd: {}`, and the URLs of its members.
Result<void> read_own_etcd(const Fields& fields, const DescriptionPlace& place, ControlPlaneDescription& into) {
    const Fields own = fields.inner("etcd");
    if (!own.value().is_object()) return wrong(own.path(), "must be an object: {} runs the etcd that the hosts have");
    TRY_VOID(own.check({"program"}));
    for (const char* name : {"etcdServers", "etcdCaFile", "etcdCertFile", "etcdKeyFile"})
        if (fields.value().find(name))
            return wrong(fields.at(name), "names an etcd that runs already; with etcd, its members run on the hosts");
    const std::size_t hosts = into.hosts.size();
    if (hosts != 1 && hosts != 3 && hosts != 5)
        return wrong(fields.at("hosts"),
                     fmt::format("are {}; with etcd there are 1, 3 or 5, as an even number survives no more failures than "
                                 "one host less, and each further member makes writes slower",
                                 hosts));
    OwnEtcd& etcd = into.own_etcd.emplace();
    TRY_VOID(own.read("program", etcd.program));
    if (!etcd.program.starts_with('/') || !is_word(etcd.program, "./_-"))
        return wrong(own.at("program"), "must be the absolute path of etcd on the hosts, of letters, digits and ./_-");
    for (const MachineDescription& host : into.hosts) into.etcd.urls.push_back("https://" + host.ssh.address + ":2379");
    return read_path(fields, "serverTokenFile", place, into.etcd.token_file);
}

Result<EtcdOfServers> read_etcd(const Fields& fields, const DescriptionPlace& place, std::size_t hosts) {
    EtcdOfServers etcd;
    TRY_VOID(fields.read("etcdServers", etcd.urls));
    if (etcd.urls.empty()) {
        for (const char* name : FieldsOfEtcd)
            if (fields.value().find(name)) return wrong(fields.at(name), "needs etcdServers");
        if (hosts > 1)
            return wrong(fields.at("etcdServers"),
                         "several servers need an etcd: `etcd: {}` for one on their hosts, or the URLs of one that runs already");
        return etcd;
    }
    const auto is_url = [](const std::string& url) {
        return (url.starts_with("https://") && is_word(url.substr(8), ".-:[]/")) ||
               (url.starts_with("http://") && is_word(url.substr(7), ".-:[]/"));
    };
    if (etcd.urls.size() > MostUrls || !std::ranges::all_of(etcd.urls, is_url))
        return wrong(fields.at("etcdServers"), "must be at most 20 URLs like https://10.0.0.5:2379");
    std::string* files[] = {&etcd.ca_file, &etcd.certificate_file, &etcd.key_file, &etcd.token_file};
    for (std::size_t i = 0; i < std::size(files); ++i) TRY_VOID(read_path(fields, FieldsOfEtcd[i], place, *files[i]));
    if (etcd.certificate_file.empty() != etcd.key_file.empty())
        return wrong(fields.at(etcd.key_file.empty() ? "etcdKeyFile" : "etcdCertFile"),
                     "is missing: a certificate and its key belong together");
    if (etcd.token_file.empty())
        return wrong(fields.at("serverTokenFile"),
                     "is missing: servers of one etcd share their keys by it; make one: (umask 077; openssl rand -hex 32 >server-token)");
    return etcd;
}

std::vector<std::string> flags_of(const ClusterOptions& options) {
    const std::vector<std::string> own = {"--port",           std::to_string(options.port), "--service-cidr", options.service_cidr,
                                          "--cluster-cidr",   options.cluster_cidr,         "--cluster-dns",  options.cluster_dns,
                                          "--cluster-domain", options.cluster_domain,       "--backend",      options.backend};
    return local_cluster::with_server_arguments(own, options.server_arguments);
}

}  // namespace

Result<std::optional<ControlPlaneDescription>> read_control_plane(std::string_view yaml, const DescriptionPlace& place) {
    TRY(const Value document, local_cluster::parse_description(yaml));
    const Fields top(document, ""), spec = top.inner("spec");
    if (!spec.value().is_object() || !spec.value().find("controlPlane")) return std::optional<ControlPlaneDescription>();
    const Fields fields = spec.inner("controlPlane");
    if (!fields.value().is_object()) return wrong(fields.path(), "must be an object");
    TRY_VOID(fields.check({"os", "user", "port", "identityFile", "knownHosts", "hosts", "kubeconfig", "etcd", "etcdServers", "etcdCaFile",
                           "etcdCertFile", "etcdKeyFile", "serverTokenFile"}));
    TRY_VOID(check_is_not_for_up(spec));

    ControlPlaneDescription read;
    TRY_VOID(top.inner("metadata").check({"name"}));
    TRY_VOID(top.inner("metadata").read("name", read.cluster));
    if (!apiserver::names::check_dns1123_label(read.cluster).empty())
        return wrong("metadata.name", "must be a name of the cluster, which tells it from others: lower-case letters, digits and dashes");
    TRY(read.hosts, read_hosts(fields, place));
    if (fields.value().find("etcd")) {
        TRY_VOID(read_own_etcd(fields, place, read));
    } else {
        TRY(read.etcd, read_etcd(fields, place, read.hosts.size()));
    }
    read.kubeconfig = place.folder + "/" + read.cluster + ".kubeconfig";
    TRY_VOID(read_path(fields, "kubeconfig", place, read.kubeconfig));

    ClusterOptions options;
    TRY_VOID(local_cluster::read_description(yaml, options));
    read.port = options.port;
    read.networks = fmt::format("pods {}, services {}, dns {}, domain {}", options.cluster_cidr, options.service_cidr, options.cluster_dns,
                                options.cluster_domain);
    read.flags = flags_of(options);

    TRY(const auto nodes, read_machines(yaml, place));
    std::vector<MachineDescription> all = read.hosts;
    all.insert(all.end(), nodes.begin(), nodes.end());
    TRY_VOID(check_distinct("spec", all));
    return std::optional(std::move(read));
}

Result<std::optional<ControlPlaneDescription>> read_control_plane_file(const std::string& file) {
    return read_file_with(file, read_control_plane);
}

}  // namespace porthole::provision
