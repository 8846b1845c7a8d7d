#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "apiserver/authorization/volume_secrets.h"
#include "apiserver/storage/record_follower.h"
#include "runtime/scope.h"

namespace porthole::apiserver {

/// Which secrets, config maps, claims and service accounts the pods of each node refer to, and which secrets the volumes of those claims
/// have: a node may read these.
///
/// Objects are named "secrets/ns/name". Mirror pods, which their node creates, and objects that cannot be decoded count as referring to
/// nothing. Lives on the store's loop.
class NodeGraph {
public:
    NodeGraph();
    NodeGraph(const NodeGraph&) = delete;

    void put_pod(const std::string& key, const api::core::v1::Pod& pod);
    void remove_pod(const std::string& key);

    /// Whether a pod on `node` refers to the object.
    bool reaches(std::string_view node, std::string_view resource, std::string_view namespace_, std::string_view name) const;
    /// Whether a volume that a pod on `node` claims has the secret for its node.
    bool reaches_volume_secret(std::string_view node, std::string_view namespace_, std::string_view name) const;
    /// Whether the pod "ns/name" is on `node`.
    bool holds_pod(std::string_view node, std::string_view key) const;

    /// Reads all pods, claims and volumes of `store`, without suspending.
    Result<void> load(const store::Store& store);
    /// Follows changes in `scope`, until that is closed. Requires: load().
    void follow(store::Store& store, Scope& scope);

private:
    using Counts = std::map<std::string, int, std::less<>>;  // of pods, by thing
    struct PodEdges {
        std::string node;
        std::vector<Counts::iterator> things;  // of the node's entry in reached_: most pods of a node refer to the same
    };
    void put_record(const std::string& key, const store::Record& record);
    void forget(const PodEdges& edges);

    std::map<std::string, PodEdges, std::less<>> pods_;
    std::map<std::string, Counts, std::less<>> reached_;  // by node
    VolumeSecrets volume_secrets_;
    RecordFollower pod_records_, volume_records_, claim_records_;
};

}  // namespace porthole::apiserver
