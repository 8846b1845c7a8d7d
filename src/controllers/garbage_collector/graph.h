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
inline constexpr std::size_t ManyOwners = 50;  ///< of one object: no controller sets more, but an object has room for 27,000

/// The identity of an object, as far as a reference contains it.
struct Identity {
    std::string api_version, kind;
    client::NamespacedName key;
    auto operator<=>(const Identity&) const = default;
};

/// The kind of many objects, which they share.
struct KindName {
    std::string api_version, kind;
};

/// The parts of one version of an object that the graph needs.
struct Item {
    client::NamespacedName key;
    Uid uid;
    std::vector<api::meta::v1::OwnerReference> owners;
    bool deleting = false;
    bool deleting_dependents = false;  ///< foreground deletion waits for its dependents
    bool orphaning = false;            ///< waits until its dependents no longer refer to it
};
Item item_of(api::meta::v1::ObjectMeta metadata);

/// One per object of the cluster; its item is shared with the informer.
struct Node {
    std::shared_ptr<const KindName> kind;
    std::shared_ptr<const Item> item;  ///< of a virtual node without owners
    bool is_virtual = false;           ///< known only from references
    bool asked_for = false;            ///< virtual, and it has been named to be checked

    Identity identity() const { return {kind->api_version, kind->kind, item->key}; }
};

/// The ownership graph. Input are changes from watches, in any order between kinds; output are the objects to examine.
///
/// An owner that has not been seen yet is a virtual node. `Events::check` names it, and the receiver looks it up and calls removed() if it
/// does not exist: so dependents of an owner that never existed are found too. An object with more than ManyOwners names itself instead,
/// so that its owners are looked up together. Not thread-safe; events are called from within the functions
/// that change the graph, and must not change it.
class Graph {
public:
    struct Events {
        std::function<void(const Uid&)> check;   ///< may have to be deleted, or may no longer have to wait
        std::function<void(const Uid&)> orphan;  ///< its dependents' references to it have to be removed
    };
    explicit Graph(Events events) : events_(std::move(events)) {}

    /// An object exists in this state.
    void observed(std::shared_ptr<const KindName> kind, std::shared_ptr<const Item> item);
    /// An object was deleted, or does not exist.
    void removed(const Uid& uid);

    const Node* find(const Uid& uid) const;
    /// All that refer to that uid, also when no owner has it any longer. Valid until the next change.
    const std::set<Uid>& dependents(const Uid& owner) const;
    /// Those that the owner may have: none in other namespaces, whatever uid their references name. Valid until the next change.
    std::vector<const Node*> dependents_of(const Node& owner) const;
    /// Of these, those with blockOwnerDeletion: the owner stays until they are deleted.
    std::vector<const Node*> blocking_dependents(const Node& owner) const;
    std::size_t size() const { return nodes_.size(); }

private:
    /// The node of that uid, which now has `item`, and its previous item: null if there was none.
    std::pair<Node&, std::shared_ptr<const Item>> put(std::shared_ptr<const Item> item);
    void link(const Node& dependent, const api::meta::v1::OwnerReference& owner);
    void unlink(const Uid& dependent, const Uid& owner);
    void compare_owners(const Node& node, const std::vector<api::meta::v1::OwnerReference>& before);
    void compare_deletion(const Node& node, const Item& before);
    void check_dependents(const Uid& owner);

    Events events_;
    std::unordered_map<std::string_view, Node> nodes_;  ///< by the uid in its item
    std::map<Uid, std::set<Uid>> dependents_;           ///< by owner; not in the nodes, as an owner may be added after its dependents
};

}  // namespace porthole::controllers::garbage
