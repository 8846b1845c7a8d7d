#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/meta_v1.h"
#include "client/discovery.h"

namespace porthole::controllers::garbage {

using Uid = std::string;

inline constexpr const char* ForegroundFinalizer = "foregroundDeletion";
inline constexpr const char* OrphanFinalizer = "orphan";

/// Where an object is, as far as a reference to it says.
struct Identity {
    std::string api_version, kind;
    client::NamespacedName key;
    auto operator<=>(const Identity&) const = default;
};

/// The kind of many objects, which they share.
struct KindName {
    std::string api_version, kind;
};

/// What the graph needs to know of an object in one version.
struct Item {
    client::NamespacedName key;
    Uid uid;
    std::vector<api::meta::v1::OwnerReference> owners;
    bool deleting = false;
    bool deleting_dependents = false;  ///< foreground deletion waits for its dependents
    bool orphaning = false;            ///< waits until its dependents have let go of it
};
Item item_of(api::meta::v1::ObjectMeta metadata);

/// There is one for every object of the cluster: what it says of an object is the informer's copy.
struct Node {
    std::shared_ptr<const KindName> kind;
    std::shared_ptr<const Item> item;  ///< of a virtual node without owners
    bool is_virtual = false;           ///< known only from references to it

    Identity identity() const { return {kind->api_version, kind->kind, item->key}; }
};

/// Who owns whom. Changes come in from watches, in any order between kinds; what should be looked at comes out.
///
/// An owner that has not been seen yet is a virtual node. `Events::check` names it, and its receiver looks it up and calls removed()
/// when it does not exist: so dependents of an owner that never existed are found, too. Not thread-safe; events are called from within
/// the functions that change the graph, and must not change it.
class Graph {
public:
    struct Events {
        std::function<void(const Uid&)> check;   ///< may have to be deleted, or be freed from waiting
        std::function<void(const Uid&)> orphan;  ///< its dependents have to be freed from it
    };
    explicit Graph(Events events) : events_(std::move(events)) {}

    /// An object exists in this state.
    void observed(std::shared_ptr<const KindName> kind, std::shared_ptr<const Item> item);
    /// An object was deleted, or was found not to exist.
    void removed(const Uid& uid);

    const Node* find(const Uid& uid) const;
    /// Also of an owner that no longer exists, as long as an object refers to it. Valid until the next change.
    const std::set<Uid>& dependents(const Uid& owner) const;
    /// Those with blockOwnerDeletion: the owner has to stay until they are deleted.
    std::vector<const Node*> blocking_dependents(const Node& owner) const;
    std::size_t size() const { return nodes_.size(); }

private:
    /// The node of that uid, whose item is `item` from now on, and what it was before: null when there was none.
    std::pair<Node&, std::shared_ptr<const Item>> put(std::shared_ptr<const Item> item);
    void link(const Node& dependent, const api::meta::v1::OwnerReference& owner);
    void unlink(const Uid& dependent, const Uid& owner);
    void compare_owners(const Node& node, const std::vector<api::meta::v1::OwnerReference>& before);
    void compare_deletion(const Node& node, const Item& before);
    void check_dependents(const Uid& owner);

    Events events_;
    std::unordered_map<std::string_view, Node> nodes_;  ///< by the uid in its item
    std::map<Uid, std::set<Uid>> dependents_;           ///< by owner; apart from the nodes, because an owner may come after its dependents
};

}  // namespace porthole::controllers::garbage
