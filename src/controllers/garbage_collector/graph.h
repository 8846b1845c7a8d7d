#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
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

struct Node {
    Identity identity;
    Uid uid;
    std::vector<api::meta::v1::OwnerReference> owners;
    bool is_virtual = false;  ///< known only from references to it
    bool deleting = false;
    bool deleting_dependents = false;  ///< foreground deletion waits for its dependents
    bool orphaning = false;            ///< waits until its dependents have let go of it
};

/// Who owns whom. Changes come in from watches, in any order between kinds; what should be looked at comes out.
///
/// An owner that has not been seen yet stands as a virtual node. It is looked up by whoever serves `on_check`, who calls removed()
/// when it does not exist: so dependents of an owner that was never there are found, too.
class Graph {
public:
    struct Events {
        std::function<void(const Uid&)> check;   ///< may have to be deleted, or be freed from waiting
        std::function<void(const Uid&)> orphan;  ///< its dependents have to be freed from it
    };
    explicit Graph(Events events) : events_(std::move(events)) {}

    /// An object is there in this state.
    void observed(Identity identity, const api::meta::v1::ObjectMeta& metadata);
    /// An object is gone, or was found not to exist.
    void removed(const Uid& uid);

    const Node* find(const Uid& uid) const;
    /// Also of an owner that is gone, as long as somebody refers to it.
    const std::set<Uid>& dependents(const Uid& owner) const;
    /// Those that ask it to stay until they are gone.
    std::vector<const Node*> blocking_dependents(const Node& owner) const;
    std::size_t size() const { return nodes_.size(); }

private:
    void link(const Node& dependent, const api::meta::v1::OwnerReference& owner);
    void unlink(const Uid& dependent, const Uid& owner);
    void change_owners(Node& node, std::vector<api::meta::v1::OwnerReference> owners);
    void become(Node& node, const api::meta::v1::ObjectMeta& metadata);
    void check_dependents(const Uid& owner);

    Events events_;
    std::map<Uid, Node> nodes_;
    std::map<Uid, std::set<Uid>> dependents_;  ///< by owner; apart from the nodes, because an owner may come after its dependents
};

}  // namespace porthole::controllers::garbage
