#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "base/version.h"
#include "client/events.h"
#include "client/informers/controller.h"
#include "client/informers/informer.h"
#include "schema/registry.h"

namespace porthole::controllers {

/// The administrator's settings. The defaults are Kubernetes'.
struct Settings {
    std::vector<std::string> cluster_cidrs;  ///< pods' addresses, one for each family; empty: no allocation to nodes
    std::vector<std::string> service_cidrs;  ///< no pod range overlaps these
    int node_mask_ipv4 = 24, node_mask_ipv6 = 64;
    std::string own_version = KubernetesVersion;                         ///< of the API server; kubelets are compared with it
    std::string root_ca_pem;                                             ///< published to every namespace; "" for none
    std::string signer_certificate_pem, signer_key_pem;                  ///< signs certificate requests; "" for none
    std::string kubelet_signer_certificate_pem, kubelet_signer_key_pem;  ///< signs those of kubernetes.io/kubelet-serving; "": the above
    Duration node_monitor_grace = std::chrono::seconds(50);
    Duration node_startup_grace = std::chrono::seconds(60);
    Duration node_monitor_period = std::chrono::seconds(5);
    double node_eviction_rate = 0.1, secondary_node_eviction_rate = 0.01;  ///< nodes a second and zone
    std::size_t large_zone = 50;                                           ///< nodes; a disrupted zone that is not larger is left alone
    double unhealthy_zone_threshold = 0.55;
    std::size_t terminated_pods_kept = 12500;
    /// The TZif file of a zone ("Europe/Berlin"). Error: NotFound. If empty, only UTC is supported.
    std::function<Result<std::string>(const std::string& zone)> read_time_zone;
};

/// Owns event recorders by component name, all running. close() it before destroying it.
class EventRecorders {
public:
    EventRecorders(EventLoop& loop, client::Client& client, Logger log)
        : loop_(loop), client_(client), log_(std::move(log)), scope_(loop) {}
    client::EventRecorder& get(const std::string& component) {
        auto& recorder = recorders_[component];
        if (!recorder) {
            recorder = std::make_unique<client::EventRecorder>(loop_, client_, log_, component);
            scope_.spawn(recorder->run());
        }
        return *recorder;
    }
    Task<> close() { return scope_.close(); }

private:
    EventLoop& loop_;
    client::Client& client_;
    Logger log_;
    std::map<std::string, std::unique_ptr<client::EventRecorder>> recorders_;
    Scope scope_;
};

using PodIndex = client::Informer<api::core::v1::Pod>::Index;

/// The index key of a label of objects in the namespace.
std::string label_key(const std::string& namespace_, const std::string& key, const std::string& value);
std::vector<std::string> label_keys(const api::meta::v1::ObjectMeta& metadata);

/// The index key of an object: its namespace and the uid of its controller, "" if it has none.
std::string owner_key(const api::meta::v1::ObjectMeta& metadata);
std::string owner_key(const std::string& namespace_, const std::string& owner_uid);
/// With those of its labels, if it has no controller.
std::vector<std::string> owner_keys(const api::meta::v1::ObjectMeta& metadata);
/// The index key of what has no controller and may match the selector.
std::string orphan_key(const std::string& namespace_, const api::meta::v1::LabelSelector& selector);

/// Cached objects by their controller. A controller has dependents in its own namespace only, whatever objects elsewhere say: who may write
/// in another namespace chooses what their references name. Borrows the informer.
template <class T>
class OwnerIndex {
public:
    using Objects = std::vector<std::shared_ptr<const T>>;
    explicit OwnerIndex(client::Informer<T>& informer)
        : index_(informer.add_index([](const T& object) { return owner_keys(object.metadata); })) {}

    Objects dependents_of(const api::meta::v1::ObjectMeta& owner) const { return index_.find(owner_key(owner.namespace_, owner.uid)); }
    /// Those in the owner's namespace that have no controller, and may match its selector. An absent one matches nothing.
    Objects orphans_of(const api::meta::v1::ObjectMeta& owner, const schema::Box<api::meta::v1::LabelSelector>& selector) const {
        return selector ? index_.find(orphan_key(owner.namespace_, *selector)) : Objects();
    }
    /// The owner's dependents, and the orphans that it may adopt.
    Objects candidates_of(const api::meta::v1::ObjectMeta& owner, const schema::Box<api::meta::v1::LabelSelector>& selector) const {
        Objects candidates = dependents_of(owner);
        for (auto& orphan : orphans_of(owner, selector)) candidates.push_back(std::move(orphan));
        return candidates;
    }
    /// Those with the same controller; of one without a controller, orphans.
    Objects siblings_of(const api::meta::v1::ObjectMeta& one) const { return index_.find(owner_key(one)); }

private:
    typename client::Informer<T>::Index index_;
};
using PodOwnerIndex = OwnerIndex<api::core::v1::Pod>;

/// Indexes that several controllers use; each is created on first use.
struct SharedIndexes {
    std::optional<PodOwnerIndex> pods_by_owner;
    std::optional<PodIndex> pods_by_node, pods_by_label, replicas;  ///< `replicas`: by replica_keys()
};

/// The collaborators of the controllers of one account. All outlive them; all are on one loop.
struct Context {
    EventLoop& loop;
    client::Client& client;  ///< acts as the account
    Random& random;
    Logger log;
    client::Informers& informers;  ///< shared by all accounts
    SharedIndexes& indexes;        ///< on those informers
    EventRecorders& events;        ///< write as the account
    const schema::Registry& kinds;
    const Settings& settings;
    /// The context of another account's controllers.
    std::function<Context&(const std::string& account)> as;

    /// Shared by all controllers that own pods.
    PodOwnerIndex pods_by_owner();
    PodIndex pods_by_node();   ///< by the node's name, "" without one
    PodIndex pods_by_label();  ///< by label_key()
};

/// Whether the API server serves T, which is off by default.
template <class T>
bool serves(const Context& context) {
    return context.kinds.find_kind(T::kind().api_version(), T::kind().kind) != nullptr;
}

using ControllerPtr = std::unique_ptr<client::Controller>;

/// A controller that acts as its class's account.
template <class C, class... Args>
ControllerPtr make_controller(Context& context, Args&&... args) {
    return std::make_unique<C>(context.as(C::Account), std::forward<Args>(args)...);
}

}  // namespace porthole::controllers
