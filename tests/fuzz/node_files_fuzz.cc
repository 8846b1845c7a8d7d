// What a node's administrator and its users leave in files for the kubelet, and what is asked of its logs.
#include <cstdint>
#include <cstdlib>

#include "dns/forwarder.h"
#include "kubelet/container/network_files.h"
#include "kubelet/devices/cdi_specs.h"
#include "kubelet/devices/prepared_claims.h"
#include "kubelet/options/options.h"
#include "kubelet/server/node_log_query.h"
#include "kubelet/static_pods.h"
#include "kubelet/user_namespaces/user_namespaces.h"
#include "kubelet/volumes/csi/csi_drivers.h"
#include "kubelet/volumes/csi/volume_data.h"
#include "net/http/http.h"
#include "proxy/options/options.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

using namespace porthole;
using namespace porthole::kubelet;

namespace {

void resolv_conf(std::string_view text) {
    static_cast<void>(dns::read_resolv_conf(text));
    core::Pod pod;
    pod.metadata.name = "a";
    for (const char* policy : {"ClusterFirst", "Default", "None"}) {
        pod.spec.dns_policy = policy;
        const auto outcome = pod_dns(pod, {.servers = {"10.96.0.10"}, .domain = "cluster.local", .host = parse_resolv_conf(text)});
        if (outcome.config.servers.size() > 3 || outcome.config.searches.size() > 32) std::abort();
    }
    const std::string hosts = host_network_hosts_file(text, {{.ip = "10.0.0.1", .hostnames = {"a"}}});
    if (hosts.find(text) == hosts.npos) std::abort();
}

/// A pod that the kubelet takes has a name and a uid, and is for this node.
void static_pod(const std::string& text) {
    const auto pod = parse_static_pod(text, "/etc/kubernetes/manifests/a.yaml", "n1");
    if (pod && (pod->metadata.name.empty() || pod->metadata.uid.empty() || pod->spec.node_name != "n1")) std::abort();
}

/// What is added has a place in the container.
void devices(FileSystem& files, const std::string& text) {
    if (!files.create_directories("/etc/cdi", 0755) || !files.write("/etc/cdi/a.yaml", text, 0644)) std::abort();
    api::cri::v1::ContainerConfig config;
    static_cast<void>(add_cdi_devices(files, {"e.com/c=d"}, config));
    for (const auto& one : config.envs)
        if (one.key.empty()) std::abort();
    for (const auto& one : config.mounts)
        if (one.container_path.empty() || one.host_path.empty()) std::abort();
}

/// What is taken for a volume's file can be written again, and names a driver that may be part of a path.
void volume_data(std::string_view text) {
    const auto data = parse_csi_volume_data(text);
    if (!data) return;
    const auto again = parse_csi_volume_data(to_json(*data));
    if (!again || again->handle != data->handle || !is_csi_driver_name(data->driver)) std::abort();
}

/// A checkpoint that is taken is written to be read again as the same.
void prepared_claims(std::string_view text) {
    const auto claims = parse_checkpoint(text);
    if (!claims) return;
    const auto again = parse_checkpoint(checkpoint_text(*claims));
    if (!again || again->size() != claims->size()) std::abort();
}

/// Whatever a record and the node's own lines say, no pod gets ids of the node, or another pod's.
void user_namespaces(FileSystem& files, const std::string& text) {
    if (!files.create_directories("/pods/a", 0750) || !files.create_directories("/pods/b", 0750) ||
        !files.create_directories("/etc", 0755) || !files.write("/pods/a/userns", text, 0600))
        std::abort();
    SeededRandom random{1};
    UserNamespaces::Settings settings{.pods_directory = "/pods"};
    for (const bool lines : {false, true}) {
        if (lines && (!files.write("/etc/subuid", text, 0644) || !files.write("/etc/subgid", text, 0644))) std::abort();
        UserNamespaces users(files, random, Logger(make_null_sink(), "users"), settings);
        users.restore({"a"});
        const auto recorded = users.find("a"), given = users.ensure("b");
        for (const auto& ids : {recorded, given})
            if (ids && (ids->first < UserNamespaces::Unit || ids->length < UserNamespaces::Unit || ids->end() > 1ULL << 32)) std::abort();
        if (recorded && given && recorded->overlaps(*given)) std::abort();
    }
}

void configurations(FileSystem& files) {
    for (const bool windows : {false, true}) {
        const auto options = parse_kubelet_options({"--config", "/config"}, windows, files);
        if (options) static_cast<void>(make_kubelet_config(*options, windows));
    }
    for (const proxy::System system : {proxy::System::Linux, proxy::System::Windows})
        static_cast<void>(proxy::parse_kube_proxy_options({"--config", "/config"}, {}, files, system));
}

void log_query(FileSystem& files, std::string_view text) {
    const auto query = NodeLogQuery::parse(net::parse_query(text));
    if (query && *query) static_cast<void>((*query)->run(files, {.own = {"/kubelet"}, .root = "/var/log"}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    if (!files.create_directories("/var/log", 0755) || !files.write("/config", text, 0644) ||
        !files.write("/var/log/kubelet.log", text, 0644))
        std::abort();
    resolv_conf(text);
    static_pod(text);
    devices(files, text);
    volume_data(text);
    prepared_claims(text);
    user_namespaces(files, text);
    configurations(files);
    log_query(files, text);
    return 0;
}
