#pragma once
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/lru_map.h"
#include "client/discovery.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"
#include "controllers/garbage_collector/graph.h"

namespace porthole::controllers {

/// Deletes objects that have lost their last owner, and performs foreground and orphaning deletions, for every kind that the server serves.
class GarbageCollector final : public client::Controller {
public:
    static constexpr const char* Account = "generic-garbage-collector";
    explicit GarbageCollector(Context& context);
    ~GarbageCollector() override;

private:
    class Watcher;
    using ObjectMeta = api::meta::v1::ObjectMeta;
    using OwnerReference = api::meta::v1::OwnerReference;
    /// An object's owner references, grouped by the state of the owners.
    struct Owners {
        std::vector<OwnerReference> solid, dangling, waiting;
        bool unresolvable = false;  ///< one of them cannot be looked up, and may be there
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Watches every kind that can be listed, watched and deleted, including kinds that are added later.
    Task<> background() override;
    Task<> refresh_kinds();
    bool all_synced() const;

    Task<> check(garbage::Uid uid);
    Task<> wait_for_dependents(garbage::Uid uid, ObjectMeta live);
    Task<> decide(garbage::Uid uid, ObjectMeta live);
    Task<Owners> classify(const garbage::Identity& item, const std::vector<OwnerReference>& owners);
    /// What lists have shown of owners, by the name of the resource and the uid.
    using Listed = std::map<std::string, std::map<garbage::Uid, ObjectMeta>>;
    /// Lists the resources of which `item` has many owners: one request for each owner would be tens of thousands.
    Task<Listed> list_owners(garbage::Identity item, const std::vector<OwnerReference>& owners);
    /// Whether the owner is of a kind in namespaces, and the item in none that would tell which.
    bool needs_namespace(const garbage::Identity& item, const OwnerReference& owner) const;
    /// Whether the owner that is meant is known to be in another namespace.
    bool is_elsewhere(const garbage::Identity& item, const OwnerReference& owner) const;
    void tell_of_wrong_namespace(const garbage::Identity& item, const OwnerReference& owner);
    Task<std::optional<ObjectMeta>> look_up_owner(garbage::Identity item, OwnerReference owner, const Listed& listed);
    Task<> unblock_circular(const garbage::Node& node);
    Task<> orphan_dependents(garbage::Uid uid);

    /// nullopt if the object does not exist. Error: NotFound if the server does not have the kind.
    Task<std::optional<ObjectMeta>> read(garbage::Identity identity);
    Task<> write_owners(garbage::Identity identity, ObjectMeta live, std::vector<OwnerReference> owners);
    Task<> remove_finalizer(garbage::Identity identity, ObjectMeta live, std::string finalizer);
    Task<> patch(garbage::Identity identity, const ObjectMeta& live, const char* field, schema::Value value);
    /// Null if the server does not have the kind.
    client::DiscoveredResourcePtr find_resource(const std::string& api_version, const std::string& kind) const;
    Result<std::string> path(const garbage::Identity& identity) const;

    Context& context_;
    client::EventRecorder& events_;
    garbage::Graph graph_;
    std::map<std::string, std::unique_ptr<Watcher>> watchers_;  ///< by resource name
    std::vector<client::DiscoveredResourcePtr> resources_;      ///< including those that cannot be watched
    LruMap<std::monostate> absent_;                             ///< owners that do not exist: an object of a uid does not come back
    Event ready_;
};

}  // namespace porthole::controllers
