#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core_v1.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Which secrets, config maps, claims and service accounts the pods of each node refer to: a node may read these.
///
/// Objects are named "secrets/ns/name". Mirror pods count as referring to nothing, because their node creates them. Lives on the store's
/// loop.
class NodeGraph {
public:
    void put_pod(const std::string& key, const api::core::v1::Pod& pod);
    void remove_pod(const std::string& key);

    /// Whether a pod on `node` refers to the object.
    bool reaches(std::string_view node, std::string_view resource, std::string_view namespace_, std::string_view name) const;
    /// Namespaces and names of the objects of the resource that pods on `node` refer to.
    std::vector<std::pair<std::string, std::string>> reached(std::string_view node, std::string_view resource) const;
    /// Whether the pod "ns/name" is on `node`.
    bool holds_pod(std::string_view node, std::string_view key) const;

    /// Reads all pods of `store`, without suspending.
    Result<void> load(const store::Store& store);
    /// Follows changes until it is cancelled. Requires: load().
    Task<> follow(store::Store& store);

private:
    struct PodEdges {
        std::string node;
        std::set<std::string> things;
    };
    /// A pod that cannot be decoded counts as referring to nothing.
    void put_record(const store::Record& record);
    Task<> take_events(store::Watch& watch);
    void forget(const PodEdges& edges);

    std::map<std::string, PodEdges, std::less<>> pods_;
    std::map<std::string, std::map<std::string, int, std::less<>>, std::less<>> reached_;  // node -> object -> pods
    store::Revision revision_;
};

}  // namespace porthole::apiserver
