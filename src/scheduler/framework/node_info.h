#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

struct PodClass;

/// The properties of a node that matter to placement.
struct NodeSpec {
    std::string name;
    Labels labels;
    std::vector<Taint> taints;
    bool unschedulable = false;
    Resources allocatable;
    std::int64_t allowed_pods = 0;
    std::vector<std::string> declared_features;
    std::vector<std::pair<std::string, std::int64_t>> images;  ///< name with tag or digest, and size in bytes
    bool operator==(const NodeSpec&) const = default;

    /// Region and zone in one text; "" if the node names neither.
    std::string zone() const;
};

/// A node and its pods, with running sums, so that a filter costs a few comparisons. Owned by Cluster, which also owns the classes.
class NodeInfo {
public:
    struct Entry {
        PodRef pod;
        PodClass* pod_class;
    };
    /// Pods of one class on this node.
    struct ClassCount {
        PodClass* pod_class;
        std::uint32_t count;
    };

    explicit NodeInfo(std::uint32_t slot) : slot_(slot) {}

    const NodeSpec& spec() const { return spec_; }
    const std::string& name() const { return spec_.name; }
    /// Dense and stable while the node exists: the index of per-node tables.
    std::uint32_t slot() const { return slot_; }
    /// False for a name that only pods mention.
    bool exists() const { return exists_; }
    const Resources& requested() const { return requested_; }
    std::int64_t scored_milli_cpu() const { return scored_milli_cpu_; }
    std::int64_t scored_memory() const { return scored_memory_; }
    const std::vector<Entry>& pods() const { return pods_; }
    const HostPorts& used_ports() const { return used_ports_; }
    const std::vector<ClassCount>& class_counts() const { return class_counts_; }
    bool has_prefer_no_schedule() const { return has_prefer_no_schedule_; }

    void set_spec(NodeSpec spec);
    void clear_spec();
    void add(PodRef pod, PodClass* pod_class);
    /// Requires: the pod is here.
    void remove(const std::string& uid);

private:
    void account(const PodInfo& pod, bool adding);

    NodeSpec spec_;
    std::uint32_t slot_;
    bool exists_ = false, has_prefer_no_schedule_ = false;
    Resources requested_;
    std::int64_t scored_milli_cpu_ = 0, scored_memory_ = 0;
    std::vector<Entry> pods_;
    HostPorts used_ports_;
    std::vector<ClassCount> class_counts_;
};

}  // namespace porthole::scheduler
