#pragma once
#include <functional>
#include <string>

#include "api/core_v1.h"
#include "apiserver/handlers/request_context.h"
#include "apiserver/resource_metrics/usage_history.h"
#include "apiserver/resources/resource.h"
#include "apiserver/subresources/connector.h"
#include "base/log.h"
#include "runtime/event_loop.h"
#include "runtime/sync.h"
#include "store/store.h"

namespace porthole::apiserver {

/// The resources nodes and pods of metrics.k8s.io, and the collection of their data: docs/design/autoscaling.md.
///
/// Reads /metrics/resource of every kubelet at intervals, as this server's kubelet client. A kubelet's report counts only for its own node
/// and the pods bound to it. Lives on the store's loop; the seams must outlive it.
class ResourceMetrics {
public:
    struct Seams {
        EventLoop& loop;
        const store::Store& store;
        Connector* connector;  ///< null if nothing can be reached: then there are no samples
        Logger log;
    };
    static constexpr Duration Resolution = std::chrono::seconds(15);      ///< between two rounds while clients use the metrics
    static constexpr Duration IdleResolution = std::chrono::seconds(60);  ///< while no one does
    static constexpr Duration IdleAfter = std::chrono::minutes(5);        ///< since the last request
    static constexpr Duration KubeletTime = std::chrono::seconds(10);     ///< for one kubelet's answer
    static constexpr std::size_t AnswerBytes = 8 << 20;                   ///< of one kubelet
    static constexpr std::size_t KubeletsAtOnce = 32;
    static constexpr std::size_t ContainersOfPod = 1000;  ///< a pod with more in the report is left out

    explicit ResourceMetrics(Seams seams);

    /// Collects until it is cancelled.
    Task<> run();
    Task<> nodes(RequestContext& context);
    Task<> pods(RequestContext& context);

private:
    /// The metrics of an object's record, as JSON of the API; null if it has none.
    using Shown = std::function<store::Bytes(const store::Record&)>;
    Task<> serve(RequestContext& context, const Resource& shown, const schema::Kind& source, Shown show);
    Task<> collect();
    Task<KubeletSamples> ask(std::string node);
    Task<std::string> fetch(ConnectTarget target);
    store::Bytes node_metrics(const store::Record& record) const;
    store::Bytes pod_metrics(const store::Record& record) const;

    Seams seams_;
    Resource nodes_, pods_;
    UsageHistory history_;
    Semaphore kubelets_{KubeletsAtOnce};
    std::optional<MonotonicTime> asked_at_;
};

}  // namespace porthole::apiserver
