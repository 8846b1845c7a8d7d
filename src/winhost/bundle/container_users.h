#pragma once
#include <memory>

#include "runtime/processes/owner_map.h"
#include "runtime/processes/user_namespace.h"
#include "winhost/bundle/oci_bundle.h"

namespace porthole::winhost {

/// Who the users of containers are on the machine. It is decided by the network namespace in which a host is started: where that belongs to
/// a user namespace, the host and all its containers are in this one, and their files are shown to it as its own; where it is the
/// machine's, root of a container is root of the machine without its powers. Immutable: any thread may call.
class ContainerUsers {
public:
    /// Of the host that this process emulates. Error: Io.
    static Result<ContainerUsers> of_this_network();
    /// Root is root.
    ContainerUsers() = default;

    /// On the machine; 0 without a user namespace.
    std::uint32_t root() const { return mapped_ ? mapped_->root : 0; }
    /// nullopt without one. Valid while this is there.
    std::optional<OciUserNamespace> user_namespace() const;
    /// For mount_overlay(); null without one.
    const OwnerMap* owners() const { return mapped_ ? &mapped_->owners : nullptr; }
    /// Gives a folder or file, whose place only this process changes, to their root. Error: Io.
    Result<void> give(const std::string& path) const;

private:
    struct Mapped {
        UserNamespace users;
        OwnerMap owners;
        std::uint32_t root;
    };
    std::shared_ptr<const Mapped> mapped_;
};

/// Whether the kernel and the file system of `folder` can show files with other owners in an overlay above `lower`: what a user namespace
/// of containers needs. Both are made if need be. Blocking. Error: Io, which says what they cannot.
Result<void> try_user_namespace(const std::string& folder, const std::string& lower);

}  // namespace porthole::winhost
