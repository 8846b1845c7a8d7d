#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/events.h"
#include "client/informers/informer.h"
#include "runtime/task.h"
#include "scheduler/framework/cluster.h"
#include "scheduler/framework/configuration.h"
#include "scheduler/framework/diagnosis.h"

namespace porthole::scheduler {

class Cluster;
struct ClusterEvent;

/// The collaborators of a scheduler. All outlive it and live on `loop`.
struct SchedulerContext {
    EventLoop& loop;
    client::Client& client;
    client::Informers& informers;
    client::EventRecorder& events;  ///< of component "default-scheduler", for the profile of that name
    Random& random;
    Logger log;
};

/// Pods whose eviction would let another pod run on a node.
struct PreemptionCandidate {
    std::string node;
    std::vector<PodRef> victims;  ///< not empty; the most important first
    std::size_t broken_budgets = 0;
};

/// Servers that take part in preemption.
class PreemptionReviewer {
public:
    virtual bool reviews_preemption_for(const PodInfo& pod) const = 0;
    /// What they leave of the candidates, and with which victims. Error: with upstream's message.
    virtual Task<std::vector<PreemptionCandidate>> review_preemption(PodRef pod, std::vector<PreemptionCandidate> candidates) = 0;

protected:
    ~PreemptionReviewer() = default;
};

/// The collaborators of plugins (upstream's framework.Handle). All references outlive the plugins.
struct Handle {
    SchedulerContext context;
    const Configuration& configuration;
    const ProfileConfiguration& profile;  ///< whose arguments the plugin gets; others may have the same. A plugin that reserves serves all
    /// Of the component that a profile's events name.
    std::function<client::EventRecorder&(const std::string& scheduler_name)> events_of;
    const Cluster& cluster;
    Scope& scope;                                       ///< for work that outlasts a call; the scheduler closes it
    std::function<void(const ClusterEvent&)> happened;  ///< for events that a plugin watches itself: waiting pods are tried again
    PreemptionReviewer* reviewer = nullptr;             ///< null if there is none
};

/// A change of the cluster that may allow a waiting pod to run.
struct ClusterEvent {
    enum class Kind : std::uint8_t {
        NodeAdded,       ///< node
        NodeChanged,     ///< node, old_node
        NodeRemoved,     ///< node, as it was
        PodPlaced,       ///< pod, now counted on its node
        PodChanged,      ///< pod (labels or requests of a placed pod)
        PodRemoved,      ///< a pod was removed from its node, or room is no longer kept for it there
        VolumesChanged,  ///< a claim, volume, storage class, CSIDriver or CSIStorageCapacity
        VolumeRoomGrew,  ///< a CSINode allows more volumes, or a VolumeAttachment was deleted
        DevicesChanged,  ///< a ResourceSlice or DeviceClass, or device_claim
        NamespaceChanged,
    };
    Kind kind;
    const NodeSpec* node = nullptr;
    const NodeSpec* old_node = nullptr;
    const PodInfo* pod = nullptr;
    const std::string* device_claim = nullptr;  ///< "namespace/name" of the ResourceClaim that matters to its own pods only

    bool about_node() const { return kind == Kind::NodeAdded || kind == Kind::NodeChanged; }
};

/// Why plugins turned a node down; empty for a node that passed. Reasons point to constants or into the plugin's state of this cycle.
struct FilterStatus {
    std::vector<std::string_view> reasons;
    bool resolvable = true;  ///< preemption may help: upstream's Unschedulable, not its UnschedulableAndUnresolvable
    std::string error{};     ///< the pod itself is invalid: it is not placed, even if other nodes passed

    void reject(std::string_view reason, bool may_resolve) {
        reasons.push_back(reason);
        resolvable = resolvable && may_resolve;
    }
};

/// A plugin's answer before any node is examined: Run filter() on the nodes, Skip this plugin for the pod, or Reject the pod as
/// unschedulable on every node.
struct PreFilter {
    enum class Outcome : std::uint8_t { Run, Skip, Reject };
    Outcome outcome = Outcome::Run;
    std::string message;                         ///< of Reject
    std::optional<std::set<std::string>> nodes;  ///< of Run: only these nodes are possible

    static PreFilter run() { return {}; }
    static PreFilter skip() { return {.outcome = Outcome::Skip}; }
    static PreFilter reject(std::string message) { return {.outcome = Outcome::Reject, .message = std::move(message)}; }
};

/// The filters of a cycle that found no node, for a plugin that tries a node in another state.
class FilterRunner {
public:
    /// Whether the cycle's pod fits on `node` in its present state, counting pods of at least its priority that are nominated there.
    virtual bool fits(const NodeInfo& node, FilterStatus& status) = 0;
    /// Tells the plugins that `node` is evaluated with, or without, a pod.
    virtual void pod_added(const PodInfo& pod, const NodeInfo& node) = 0;
    virtual void pod_removed(const PodInfo& pod, const NodeInfo& node) = 0;

protected:
    ~FilterRunner() = default;
};

/// A plugin's answer once no node passed: a node where the pod will fit soon, or why it cannot help.
struct PostFilter {
    std::string nominated_node;  ///< "" for none
    std::string message;         ///< without a node; completes the diagnosis. May be ""
    /// Without a node: an earlier nomination of the pod is over, as no room can be made for it.
    bool ends_nomination = false;
    /// The answer itself, where others have to be asked for it. Only of pods for which Handle::reviewer reviews preemption.
    std::optional<Task<PostFilter>> later = {};
};

inline constexpr std::int64_t MaxScore = 100;

/// One aspect of placement, such as taints or ports. Implement it in plugins/<name>.cc and list it in plugins/plugins.def.
///
/// One instance serves all cycles of a scheduler, on the scheduler's loop; profiles whose arguments for it differ have one each, unless it
/// reserves. A cycle handles one pod from start to end without suspending, so
/// a plugin keeps the state of the current cycle in its own members: pre_filter() and pre_score() set it, the other functions read it. It
/// may keep pointers to the pod and the cluster until the cycle ends, and no longer. Order of calls in a cycle:
///     pre_filter -> filter for each node -> pre_score -> score for each feasible node -> normalize -> reserve
/// or, if no node passed,
///     pre_filter -> filter for each node -> post_filter
/// with pod_removed / filter / pod_added in between when preemption evaluates a node without some of its pods. After reserve() the pod is
/// bound, which suspends while other pods have their cycles: pre_bind -> the Binding is posted. If either fails: unreserve.
class Plugin {
public:
    virtual ~Plugin() = default;
    /// Upstream's name of the plugin, unique in the list; a literal.
    virtual std::string_view name() const = 0;
    /// The factor of its score in a node's sum, where the configuration names none; 0 for a plugin that does not score.
    virtual std::int64_t weight() const { return 0; }

    virtual PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) { return PreFilter::skip(); }
    /// Whether the pod of the cycle fits on `node`; if not, sets upstream's message in `status`. Called only after pre_filter() returned
    /// Run.
    virtual bool filter(const NodeInfo& node, FilterStatus& status) { return true; }
    /// Whether the result of filter() depends only on `node`, with its pods, and on those parts of the pod that alike_on_any_node()
    /// compares. The cycle then reuses it for such pods until the node changes.
    virtual bool filters_by_node_alone() const { return false; }
    /// Preemption evaluates a node with changed pods: adjust the state of this cycle.
    virtual void pod_added(const PodInfo& pod, const NodeInfo& node) {}
    virtual void pod_removed(const PodInfo& pod, const NodeInfo& node) {}

    /// `nodes` passed every filter. False to leave out score() and normalize() in this cycle.
    virtual bool pre_score(const PodInfo& pod, const Cluster& cluster, std::span<const NodeInfo* const> nodes) { return weight() > 0; }
    /// Higher is better, in any unit that normalize() understands.
    virtual std::int64_t score(const NodeInfo& node) { return 0; }
    /// The same for score(), and for whether pre_score() holds. The scores are already 0 … MaxScore; normalize() is not called.
    virtual bool scores_by_node_alone() const { return false; }
    /// Maps the scores of all nodes of the cycle to 0 … MaxScore, in place.
    virtual void normalize(std::span<std::int64_t> scores) {}

    /// No node passed. Called only if there are nodes.
    virtual PostFilter post_filter(const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters) { return {}; }

    /// `pod` is counted on `node`: reserves what else it will use there. An error cancels the decision.
    virtual Result<void> reserve(const PodInfo& pod, const std::string& node) { return {}; }
    /// The pod will not be bound to `node` after all. Must do no harm where reserve() failed or was not called.
    virtual void unreserve(const PodInfo& pod, const std::string& node) {}
    /// Prepares what the pod needs before it is bound, if necessary through the API. An error cancels the decision.
    virtual Task<> pre_bind(PodRef pod, std::string node) { co_return {}; }

    /// Ends when the plugin's own watches have synced. The first cycle begins after that.
    virtual Task<> wait_for_sync() { co_return {}; }
    /// Whether `event` may make `waiting`, which this plugin rejected earlier, schedulable. False leaves the pod in the unschedulable
    /// queue.
    virtual bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const { return false; }
    /// Appends metrics of the plugin's own. For plugins that reserve: of others there may be several, and a family may appear only once.
    virtual void append_metrics(std::string& out) const {}
};

using PluginList = std::vector<std::unique_ptr<Plugin>>;

/// What a profile calls at each extension point, in order. The plugins belong to a list.
struct PluginCalls {
    struct Filter {
        std::uint32_t position;  ///< in the list
        Plugin* plugin;
    };
    struct Scorer {
        Plugin* plugin;
        std::int64_t weight;  ///< > 0
    };
    std::vector<Filter> filters;
    std::vector<Scorer> scorers;
    std::vector<Plugin*> post_filters, reservers, binders;

    /// Every plugin everywhere.
    static PluginCalls all_of(const PluginList& plugins);
};

/// 100·x/max, or 100 less that.
void normalize_to_largest(std::span<std::int64_t> scores, bool reverse);
/// Whether `term` selects `pod`, by labels and by namespace.
bool names_pod(const AffinityTerm& term, const PodInfo& pod, const Cluster& cluster);

}  // namespace porthole::scheduler
