#include "apiserver/authorization/node_graph.h"

#include <algorithm>
#include <set>

#include "apiserver/storage/keys.h"
#include "client/json_slices.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;

std::string thing(std::string_view resource, std::string_view namespace_, std::string_view name) {
    return std::string(resource) + "/" + std::string(namespace_) + "/" + std::string(name);
}

/// Collects what one pod refers to.
class References {
public:
    explicit References(const Pod& pod) : namespace_(pod.metadata.namespace_) {
        const PodSpec& spec = pod.spec;
        add("serviceaccounts", spec.service_account_name);
        for (const auto& secret : spec.image_pull_secrets) add("secrets", secret.name);
        for (const auto* containers : {&spec.containers, &spec.init_containers}) {
            for (const Container& container : *containers) environment(container.env, container.env_from);
        }
        for (const auto& container : spec.ephemeral_containers) environment(container.env, container.env_from);
        for (const Volume& one : spec.volumes) volume(pod, one);
        for (const auto& claim : spec.resource_claims) add("resourceclaims", claim.resource_claim_name.value_or(""));
        for (const auto& claim : pod.status.resource_claim_statuses) add("resourceclaims", claim.resource_claim_name.value_or(""));
        if (const auto& extended = pod.status.extended_resource_claim_status) add("resourceclaims", extended->resource_claim_name);
    }
    std::set<std::string> things;

private:
    void add(std::string_view resource, std::string_view name) {
        if (!name.empty()) things.insert(thing(resource, namespace_, name));
    }
    void environment(const std::vector<EnvVar>& variables, const std::vector<EnvFromSource>& sources) {
        for (const EnvVar& variable : variables) {
            if (!variable.value_from) continue;
            if (variable.value_from->secret_key_ref) add("secrets", variable.value_from->secret_key_ref->name);
            if (variable.value_from->config_map_key_ref) add("configmaps", variable.value_from->config_map_key_ref->name);
        }
        for (const EnvFromSource& source : sources) {
            if (source.secret_ref) add("secrets", source.secret_ref->name);
            if (source.config_map_ref) add("configmaps", source.config_map_ref->name);
        }
    }
    void volume(const Pod& pod, const Volume& one) {
        if (one.secret) add("secrets", one.secret->secret_name);
        if (one.config_map) add("configmaps", one.config_map->name);
        if (one.persistent_volume_claim) add("persistentvolumeclaims", one.persistent_volume_claim->claim_name);
        if (one.ephemeral) add("persistentvolumeclaims", pod.metadata.name + "-" + one.name);
        source_secrets(one);
        if (!one.projected) return;
        for (const VolumeProjection& source : one.projected->sources) {
            if (source.secret) add("secrets", source.secret->name);
            if (source.config_map) add("configmaps", source.config_map->name);
        }
    }
    /// What the node needs to mount a volume of another system.
    void source_secrets(const Volume& one) {
        const auto add_secret = [&](const auto& reference) {
            if (reference) add("secrets", reference->name);
        };
        if (one.azure_file) add("secrets", one.azure_file->secret_name);
        if (one.cephfs) add_secret(one.cephfs->secret_ref);
        if (one.cinder) add_secret(one.cinder->secret_ref);
        if (one.csi) add_secret(one.csi->node_publish_secret_ref);
        if (one.flex_volume) add_secret(one.flex_volume->secret_ref);
        if (one.iscsi) add_secret(one.iscsi->secret_ref);
        if (one.rbd) add_secret(one.rbd->secret_ref);
        if (one.scale_io) add_secret(one.scale_io->secret_ref);
        if (one.storageos) add_secret(one.storageos->secret_ref);
    }
    const std::string& namespace_;
};

/// Those members of a pod's spec that put_pod() reads, as an object. Containers are most of a spec, and refer to things in their
/// environment alone.
Result<std::string> referring_members(std::string_view spec) {
    const auto is_in = [](std::string_view name, std::initializer_list<std::string_view> names) {
        return std::ranges::find(names, name) != names.end();
    };
    TRY(const auto members, client::json_members(spec));
    std::string referring = "{";
    for (const auto& [name, value] : members) {
        const bool is_containers = is_in(name, {"containers", "initContainers", "ephemeralContainers"}) &&
                                   (value.find("\"valueFrom\"") != value.npos || value.find("\"envFrom\"") != value.npos);
        if (!is_containers && !is_in(name, {"nodeName", "serviceAccountName", "imagePullSecrets", "volumes", "resourceClaims"})) continue;
        if (referring.size() > 1) referring += ',';
        referring.append("\"").append(name).append("\":").append(value);
    }
    return referring + '}';
}

/// What put_pod() reads of the stored pod "namespace/name". The rest, most of it, is decoded only where it may matter, or
/// where an escape could hide that it does.
Result<Pod> referring_parts(std::string_view key, std::string_view stored) {
    for (const std::string_view sign : {"config.mirror", "resourceClaimStatuses", "extendedResourceClaimStatus", "\\u"})
        if (stored.find(sign) != stored.npos) return schema::decode_json<Pod>(stored);
    Pod pod;
    const std::size_t slash = key.find('/');
    pod.metadata.namespace_ = key.substr(0, slash);
    pod.metadata.name = key.substr(slash + 1);
    TRY(const std::string_view spec, client::json_member(stored, "spec"));
    if (spec.empty()) return pod;
    TRY(const std::string referring, referring_members(spec));
    TRY_VOID(schema::decode_json(PodSpec::schema_type(), &pod.spec, referring));
    return pod;
}

}  // namespace

NodeGraph::NodeGraph()
    : pod_records_(Pod::kind(), {.clear =
                                     [this] {
                                         pods_.clear();
                                         reached_.clear();
                                     },
                                 .put = [this](const auto& key, const auto& record) { put_record(key, record); },
                                 .remove = [this](const auto& key) { remove_pod(key); }}),
      volume_records_(PersistentVolume::kind(), {.clear = [this] { volume_secrets_.clear_volumes(); },
                                                 .put =
                                                     [this](const auto& name, const auto& record) {
                                                         const auto volume = schema::decode_json<PersistentVolume>(*record.value.bytes());
                                                         volume ? volume_secrets_.put_volume(name, *volume)
                                                                : volume_secrets_.remove_volume(name);
                                                     },
                                                 .remove = [this](const auto& name) { volume_secrets_.remove_volume(name); }}),
      claim_records_(PersistentVolumeClaim::kind(),
                     {.clear = [this] { volume_secrets_.clear_claims(); },
                      .put =
                          [this](const auto& key, const auto& record) {
                              const auto claim = schema::decode_json<PersistentVolumeClaim>(*record.value.bytes());
                              claim ? volume_secrets_.put_claim(key, *claim) : volume_secrets_.remove_claim(key);
                          },
                      .remove = [this](const auto& key) { volume_secrets_.remove_claim(key); }}) {}

void NodeGraph::put_pod(const std::string& key, const Pod& pod) {
    remove_pod(key);
    if (pod.spec.node_name.empty()) return;
    PodEdges edges{.node = pod.spec.node_name};
    std::set<std::string> things;
    if (!pod.metadata.annotations.contains("kubernetes.io/config.mirror")) things = References(pod).things;
    edges.things.reserve(things.size());
    for (const std::string& thing : things) {
        const auto count = reached_[edges.node].try_emplace(thing, 0).first;
        ++count->second;
        edges.things.push_back(count);
    }
    pods_.emplace(key, std::move(edges));
}

void NodeGraph::remove_pod(const std::string& key) {
    const auto found = pods_.find(key);
    if (found == pods_.end()) return;
    forget(found->second);
    pods_.erase(found);
}

void NodeGraph::forget(const PodEdges& edges) {
    const auto node = reached_.find(edges.node);
    if (node == reached_.end()) return;
    for (const Counts::iterator count : edges.things)
        if (--count->second == 0) node->second.erase(count);
    if (node->second.empty()) reached_.erase(node);
}

bool NodeGraph::reaches(std::string_view node, std::string_view resource, std::string_view namespace_, std::string_view name) const {
    const auto found = reached_.find(node);
    return found != reached_.end() && found->second.contains(thing(resource, namespace_, name));
}

bool NodeGraph::reaches_volume_secret(std::string_view node, std::string_view namespace_, std::string_view name) const {
    const auto found = reached_.find(node);
    if (found == reached_.end()) return false;
    return volume_secrets_.is_of_claim(std::string(namespace_) + "/" + std::string(name),
                                       [&](const std::string& claim) { return found->second.contains("persistentvolumeclaims/" + claim); });
}

bool NodeGraph::holds_pod(std::string_view node, std::string_view key) const {
    const auto found = pods_.find(key);
    return found != pods_.end() && found->second.node == node;
}

Result<void> NodeGraph::load(const store::Store& store) {
    for (RecordFollower* records : {&pod_records_, &volume_records_, &claim_records_}) TRY_VOID(records->load(store));
    return {};
}

void NodeGraph::follow(store::Store& store, Scope& scope) {
    for (RecordFollower* records : {&pod_records_, &volume_records_, &claim_records_}) scope.spawn(records->follow(store));
}

void NodeGraph::put_record(const std::string& key, const store::Record& record) {
    const bool unbound = record.attributes && record.attributes->topic().empty();  // a pod's topic is its node
    const auto pod = unbound ? Result<Pod>(Pod()) : referring_parts(key, *record.value.bytes());
    if (unbound || !pod) return remove_pod(key);
    put_pod(key, *pod);
}

}  // namespace porthole::apiserver
