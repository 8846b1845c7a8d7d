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

/// Which secrets, config maps, claims and service accounts the pods of each node refer to: what that node may read.
///
/// Things are named "secrets/ns/name". Mirror pods refer to nothing: their node invents them. Lives on the store's loop.
class NodeGraph {
public:
    void put_pod(const std::string& key, const api::core::v1::Pod& pod);
    void remove_pod(const std::string& key);

    /// Whether a pod on `node` refers to the thing.
    bool reaches(std::string_view node, std::string_view resource, std::string_view namespace_, std::string_view name) const;
    /// The claims that pods on `node` refer to, as {namespace, name}.
    std::vector<std::pair<std::string, std::string>> claims(std::string_view node) const;
    /// Whether the pod "ns/name" is on `node`.
    bool holds_pod(std::string_view node, std::string_view key) const;

    /// Reads all pods of `store`, at once.
    Result<void> load(const store::Store& store);
    /// Follows changes until it is cancelled. Requires: load().
    Task<> follow(store::Store& store);

private:
    struct PodEdges {
        std::string node;
        std::set<std::string> things;
    };
    /// A pod that cannot be decoded refers to nothing.
    void put_record(const store::Record& record);
    Task<> take_events(store::Watch& watch);
    void forget(const PodEdges& edges);

    std::map<std::string, PodEdges, std::less<>> pods_;
    std::map<std::string, std::map<std::string, int, std::less<>>, std::less<>> reached_;  // node -> thing -> pods
    store::Revision revision_;
};

}  // namespace porthole::apiserver
