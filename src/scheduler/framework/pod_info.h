#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time/time.h"
#include "scheduler/framework/selector.h"

namespace porthole::scheduler {

/// Amounts that a node offers or a pod requests: thousandths of a CPU, bytes, and whole units of extended resources.
struct Resources {
    std::int64_t milli_cpu = 0, memory = 0, ephemeral_storage = 0;
    std::vector<std::pair<std::string, std::int64_t>> extended;  ///< sorted by name

    std::int64_t extended_amount(std::string_view name) const;
    std::int64_t& extended_slot(const std::string& name);
    Resources& operator+=(const Resources& other);
    /// An extended resource of which nothing remains is no longer listed.
    Resources& operator-=(const Resources& other);
    /// For each resource the larger amount.
    void raise_to(const Resources& other);
    /// As objects::add_to_named().
    void add_to_named(const Resources& more);
    /// Reduces each amount to at most `most`.
    void lower_to(std::int64_t most);
    bool operator==(const Resources&) const = default;
};

inline void raise_to(Resources& highest, const Resources& other) { highest.raise_to(other); }
inline void add_to_named(Resources& amounts, const Resources& more) { amounts.add_to_named(more); }

enum class TaintEffect : std::uint8_t { NoSchedule, PreferNoSchedule, NoExecute };

/// A taint of a node.
struct Taint {
    std::string key, value;
    TaintEffect effect = TaintEffect::NoSchedule;
    bool operator==(const Taint&) const = default;
};

/// As objects::tolerates(), with effects compared as numbers.
struct Toleration {
    std::string key, value;
    bool exists = false;                ///< operator Exists; an empty key then tolerates every taint
    std::optional<TaintEffect> effect;  ///< nullopt: all effects
    bool tolerates(const Taint& taint) const;
    bool operator==(const Toleration&) const = default;
};

bool tolerated(const Taint& taint, const std::vector<Toleration>& tolerations);

/// A host port that a container uses.
struct HostPort {
    std::string ip;        ///< "0.0.0.0" for all addresses
    std::string protocol;  ///< "TCP", "UDP", "SCTP"
    std::int32_t port = 0;
    bool operator==(const HostPort&) const = default;
};

/// Ports of a node that are taken, each as often as it was added. A pod may have tens of thousands.
class HostPorts {
public:
    HostPorts() = default;
    explicit HostPorts(const std::vector<HostPort>& ports);
    void add(const HostPort& port);
    void remove(const HostPort& port);  ///< fine if it is not there
    /// Whether one of them is taken.
    bool conflict(const std::vector<HostPort>& ports) const;

private:
    using Number = std::pair<std::int32_t, std::string>;          // and protocol
    std::map<Number, std::map<std::string, std::uint32_t>> ips_;  // how often
};

/// An entry of spec.topologySpreadConstraints.
struct SpreadConstraint {
    std::int32_t max_skew = 1;
    std::string topology_key;
    bool required = true;  ///< DoNotSchedule
    Selector selector = Selector::nothing();
    std::int32_t min_domains = 1;
    bool honor_node_affinity = true, honor_node_taints = false;
};

/// A disk that a pod names itself, and that not every pod may have on one node.
struct PodDisk {
    std::string id;  ///< equal for the same disk
    bool read_only = false;
    /// Of the same disk one may be written, or all may be read.
    bool conflicts(const PodDisk& other) const { return id == other.id && !(read_only && other.read_only); }
};

/// A volume of a pod that is of a CSI driver although the pod names an in-tree type.
struct MigratedVolume {
    std::string name;  ///< as in objects/csi_volume.h
    std::string driver;
    std::string plugin;  ///< in-tree name
};

/// An entry of preferredDuringSchedulingIgnoredDuringExecution of the node affinity.
struct PreferredNodeTerm {
    std::int32_t weight = 0;
    NodeSelectorTerm term;
};

/// An entry of spec.resourceClaims for which a ResourceClaim is needed.
struct PodDeviceClaim {
    std::string name;           ///< of the entry, or of the first of those with this claim
    std::string claim;          ///< the ResourceClaim's name; "" while it does not exist yet
    bool is_generated = false;  ///< from a template: the pod must own the claim
    bool operator==(const PodDeviceClaim&) const = default;
};

/// The properties of a pod that matter to placement. Immutable; shared by queue, cluster and bindings.
struct PodInfo {
    std::string namespace_, name, uid, resource_version;
    Labels labels;
    std::string node_name, nominated_node_name, scheduler_name;
    std::int32_t priority = 0;
    bool never_preempts = false;  ///< preemptionPolicy Never
    bool terminating = false;     ///< has a deletion timestamp
    bool preempted = false;       ///< terminating, because a scheduler has evicted it for a more important pod
    bool finished = false;        ///< phase Succeeded or Failed
    Timestamp created, started;
    std::vector<std::string> scheduling_gates;

    Resources requests;
    std::int64_t scored_milli_cpu = 0, scored_memory = 0;  ///< requests, with a default for containers that have none
    std::vector<HostPort> host_ports;
    std::vector<std::string> images;                ///< with tag; of init containers, containers, volumes
    std::vector<std::string_view> needed_features;  ///< that its node has to declare
    std::size_t container_count = 0;                ///< containers and init containers

    Labels node_selector;
    std::optional<std::vector<NodeSelectorTerm>> required_node_terms;
    std::vector<PreferredNodeTerm> preferred_node_terms;
    std::vector<Toleration> tolerations;
    std::vector<AffinityTerm> affinity, anti_affinity;  ///< required
    std::vector<AffinityTerm> preferred_affinity;       ///< both signs
    std::vector<SpreadConstraint> spread_constraints;
    bool owned_by_set = false;               ///< by a ReplicaSet, StatefulSet or ReplicationController
    std::vector<std::string> claims;         ///< PersistentVolumeClaims it mounts
    std::set<std::string> ephemeral_claims;  ///< of these, those that are made for it
    std::vector<PodDisk> disks;              // by id, each once
    std::vector<MigratedVolume> migrated_volumes;
    std::vector<PodDeviceClaim> device_claims;
    std::string affinity_text;  ///< equal texts: equal affinity terms; "" for none

    std::string key() const { return namespace_ + "/" + name; }
    /// Whether the node selector and the required node affinity allow it there.
    bool accepts_node(const Labels& node_labels, const std::string& node) const;
};

using PodRef = std::shared_ptr<const PodInfo>;

/// Forgets what only the search for its node needs: of all pods of a cluster, nearly all have one.
void forget_search(PodInfo& pod);

/// Whether preemption spares `one` rather than `other`: by priority, then by the time that it has run.
bool is_more_important(const PodRef& one, const PodRef& other);

/// Whether plugins whose result depends only on the pod and one node give the same result for both; see Plugin::filters_by_node_alone().
bool alike_on_any_node(const PodInfo& one, const PodInfo& other);

}  // namespace porthole::scheduler
