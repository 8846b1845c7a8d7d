#include "apiserver/bootstrap/bootstrap.h"

#include <algorithm>

#include "api/core_v1.h"
#include "api/networking_v1.h"
#include "api/scheduling_v1.h"
#include "api/storage_v1.h"
#include "apiserver/authorization/bootstrap_reconciler.h"
#include "apiserver/bootstrap/ensure.h"
#include "apiserver/bootstrap/kubernetes_endpoints.h"
#include "base/base64.h"
#include "base/result.h"
#include "base/values/ip.h"
#include "objects/conditions.h"
#include "objects/local_volume.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::networking::v1::ServiceCIDR;
using api::scheduling::v1::PriorityClass;
using api::storage::v1::CSIDriver;
using api::storage::v1::StorageClass;

Task<> namespaces(client::Client& client) {
    for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
        Namespace space;
        space.metadata.name = name;
        CO_TRY_VOID(co_await ensure(client, std::move(space)));
    }
    co_return {};
}

Task<> kubernetes_service(client::Client& client, BootstrapOptions options) {
    Service service;
    service.metadata.name = "kubernetes";
    service.metadata.namespace_ = "default";
    service.metadata.labels = {{"component", "apiserver"}, {"provider", "kubernetes"}};
    service.spec.type = "ClusterIP";
    service.spec.cluster_ip = options.kubernetes_service_ip;
    service.spec.cluster_ips = {options.kubernetes_service_ip};
    service.spec.session_affinity = "None";
    service.spec.ports.push_back({.name = "https", .protocol = "TCP", .port = 443, .target_port = IntOrString(options.port)});
    CO_TRY_VOID(co_await ensure_like(client, service, [](Service& stored, const Service& wanted) {
        if (stored.spec.ports.empty()) return assign(stored.spec.ports, wanted.spec.ports);
        return assign(stored.spec.ports[0].target_port, wanted.spec.ports[0].target_port);
    }));

    if (!options.only_server || is_loopback(options.advertise_address)) co_return {};
    co_return co_await publish_kubernetes_endpoints(client, {options.advertise_address}, options.port);
}

/// The range that services take their addresses from, as an object. A range that was configured later does not replace it, as upstream.
Task<> default_service_range(client::Client& client, std::string service_cidr) {
    const auto prefix = IpPrefix::parse(service_cidr);
    if (!prefix) co_return {};
    ServiceCIDR wanted;
    wanted.metadata.name = "kubernetes";
    wanted.spec.cidrs = {prefix->to_string()};
    CO_TRY_VOID(co_await ensure(client, wanted));
    CO_TRY(ServiceCIDR stored, co_await client.get<ServiceCIDR>(client::key_of(wanted)));
    if (stored.spec.cidrs != wanted.spec.cidrs || objects::find_condition(stored.status.conditions, "Ready")) co_return {};
    auto& ready = stored.status.conditions.emplace_back();
    ready.type = "Ready";
    ready.status = "True";
    ready.message = "Kubernetes default Service CIDR is ready";
    ready.last_transition_time = stored.metadata.creation_timestamp;
    CO_TRY_VOID(co_await client.update_status(std::move(stored)));
    co_return {};
}

/// Linux nodes answer DNS themselves at this address: the service has no selector. A controller keeps endpoints for the others.
Task<> dns_service(client::Client& client, BootstrapOptions options) {
    Service service;
    service.metadata.name = "kube-dns";
    service.metadata.namespace_ = "kube-system";
    service.metadata.labels = {{"k8s-app", "kube-dns"}, {"kubernetes.io/cluster-service", "true"}, {"kubernetes.io/name", "PortholeDNS"}};
    service.spec.type = "ClusterIP";
    service.spec.cluster_ip = options.cluster_dns;
    service.spec.cluster_ips = {options.cluster_dns};
    service.spec.ports.push_back({.name = "dns", .protocol = "UDP", .port = 53, .target_port = IntOrString(53)});
    service.spec.ports.push_back({.name = "dns-tcp", .protocol = "TCP", .port = 53, .target_port = IntOrString(53)});
    return ensure(client, std::move(service));
}

Task<> priority_classes(client::Client& client) {
    PriorityClass node;
    node.metadata.name = "system-node-critical";
    node.value = 2'000'001'000;
    node.description = "For pods that are critical to their node and must not be moved from it.";
    CO_TRY_VOID(co_await ensure(client, std::move(node)));
    PriorityClass cluster;
    cluster.metadata.name = "system-cluster-critical";
    cluster.value = 2'000'000'000;
    cluster.description = "For pods that are critical to the cluster; they may be moved to another node.";
    co_return co_await ensure(client, std::move(cluster));
}

/// Created once: an administrator may change them, take the default mark away, or delete them, and finds them so after the next start. A
/// cluster that has a default class when it first starts with this program keeps it.
Task<> local_storage(client::Client& client) {
    constexpr const char *Created = "local.porthole.io/storage-class-created", *Default = "storageclass.kubernetes.io/is-default-class";
    CO_TRY(Namespace system, co_await client.get<Namespace>({"", "kube-system"}));
    if (system.metadata.annotations.contains(Created)) co_return {};
    CO_TRY(const auto classes, co_await client.list<StorageClass>());
    const bool has_default = std::ranges::any_of(classes.items, [&](const StorageClass& one) {
        const auto mark = one.metadata.annotations.find(Default);
        return mark != one.metadata.annotations.end() && mark->second == "true";
    });
    CSIDriver driver;
    driver.metadata.name = objects::local_volume::Driver;
    driver.spec.attach_required = false;
    driver.spec.fs_group_policy = "File";
    driver.spec.storage_capacity = true;
    driver.spec.volume_lifecycle_modes = {"Persistent"};
    CO_TRY_VOID(co_await ensure(client, std::move(driver)));
    StorageClass local;
    local.metadata.name = "local";
    if (!has_default) local.metadata.annotations[Default] = "true";
    local.provisioner = objects::local_volume::Driver;
    local.reclaim_policy = "Delete";
    local.volume_binding_mode = "WaitForFirstConsumer";
    local.allow_volume_expansion = true;
    CO_TRY_VOID(co_await ensure(client, std::move(local)));
    system.metadata.annotations[Created] = "true";
    CO_TRY_VOID(co_await client.update(std::move(system)));
    co_return {};
}

constexpr std::string_view OurClusterInfo = "apiVersion: v1\nkind: Config\nclusters:\n- name: \"\"\n  cluster:\n";

/// Whether another program, such as kubeadm, wrote the kubeconfig for joining nodes, and it names this authority: its server may be a load
/// balancer, which this server does not know.
bool is_of_another(const std::string& kubeconfig, const std::string& ca_pem) {
    return !kubeconfig.starts_with(OurClusterInfo) && kubeconfig.contains(encode_base64(ca_pem));
}

std::string json_list(const std::vector<std::string>& texts) {
    schema::Value list = schema::Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return schema::to_json(list);
}

}  // namespace

bool is_loopback(const std::string& address) {
    const auto parsed = IpAddress::parse(address);
    return parsed && parsed->is_loopback();
}

Task<> publish_authorities(client::Client& client, BootstrapOptions options) {
    ConfigMap info;
    info.metadata.name = "cluster-info";
    info.metadata.namespace_ = "kube-public";
    info.data["kubeconfig"] = std::string(OurClusterInfo) + "    certificate-authority-data: " + encode_base64(options.ca_pem) +
                              "\n    server: https://" + options.advertise_address + ":" + std::to_string(options.port) +
                              "\ncontexts:\n- name: \"\"\n  context:\n    cluster: \"\"\n    user: \"\"\n"
                              "current-context: \"\"\nusers: []\n";
    info.data["clusterDns"] = options.cluster_dns;
    info.data["clusterDomain"] = options.cluster_domain;
    info.data["clusterCidr"] = options.cluster_cidr;
    info.data["serviceCidr"] = options.service_cidr;
    if (!options.backend.empty()) info.data["podNetworkBackend"] = options.backend;
    const auto keep_signatures = [](ConfigMap& stored, const ConfigMap& wanted) {
        bool changed = false;
        for (const auto& [key, value] : wanted.data) changed = assign(stored.data[key], value) || changed;
        return changed;
    };
    const auto keep_server = [&](ConfigMap& stored, ConfigMap wanted) {
        const std::string& kubeconfig = stored.data["kubeconfig"];
        if (is_of_another(kubeconfig, options.ca_pem)) wanted.data["kubeconfig"] = kubeconfig;
        return keep_signatures(stored, wanted);
    };
    CO_TRY_VOID(co_await ensure_like(client, std::move(info), keep_server));

    ConfigMap authentication;
    authentication.metadata.name = "extension-apiserver-authentication";
    authentication.metadata.namespace_ = "kube-system";
    authentication.data["client-ca-file"] = options.client_ca_pem;
    if (const auto& proxy = options.front_proxy; !proxy.ca_pem.empty()) {
        authentication.data["requestheader-client-ca-file"] = proxy.ca_pem;
        authentication.data["requestheader-allowed-names"] = json_list(proxy.allowed_names);
        authentication.data["requestheader-username-headers"] = json_list(proxy.username_headers);
        if (!proxy.uid_headers.empty()) authentication.data["requestheader-uid-headers"] = json_list(proxy.uid_headers);
        authentication.data["requestheader-group-headers"] = json_list(proxy.group_headers);
        authentication.data["requestheader-extra-headers-prefix"] = json_list(proxy.extra_prefixes);
    }
    co_return co_await ensure_like(client, std::move(authentication), keep_signatures);
}

namespace {

constexpr int WriteAttempts = 20;

Task<> make_objects(client::Client& client, BootstrapOptions options) {
    CO_TRY_VOID(co_await namespaces(client));
    CO_TRY_VOID(co_await reconcile_bootstrap_policy(client));
    CO_TRY_VOID(co_await priority_classes(client));
    CO_TRY_VOID(co_await default_service_range(client, options.service_cidr));
    CO_TRY_VOID(co_await kubernetes_service(client, options));
    CO_TRY_VOID(co_await dns_service(client, options));
    CO_TRY_VOID(co_await local_storage(client));
    co_return co_await publish_authorities(client, options);
}

}  // namespace

Task<> bootstrap_cluster(client::Client& client, BootstrapOptions options) {
    // Another server on the same etcd may be making the same objects: each attempt begins with what is there by then.
    for (int attempt = 1;; ++attempt) {
        const Result<void> made = co_await make_objects(client, options);
        if (made || made.error().reason != Reason::Conflict || attempt == WriteAttempts) co_return made;
    }
}

}  // namespace porthole::apiserver
