#pragma once
#include <memory>

#include "runtime/processes/owner_map.h"
#include "runtime/processes/user_namespace.h"
#include "winhost/bundle/oci_bundle.h"

namespace porthole::winhost {

/// The uids of containers' users on the machine, which the network namespace determines in which a host is started: if a user namespace
/// owns it, the host and all its containers are in this user namespace, and their files appear to it as its own; if the machine owns it,
/// root of a container is root of the machine without its capabilities. Immutable: any thread may call.
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
    /// Makes their root the owner of a directory or file, whose location only this process changes. Error: Io.
    Result<void> give(const std::string& path) const;

private:
    struct Mapped {
        UserNamespace users;
        OwnerMap owners;
        std::uint32_t root;
    };
    std::shared_ptr<const Mapped> mapped_;
};

/// Whether the kernel and the file system of `folder` support idmapped mounts in an overlay above `lower`, which a user namespace of
/// containers needs. Both are created if necessary. Blocking. Error: Io with what is not supported.
Result<void> try_user_namespace(const std::string& folder, const std::string& lower);

}  // namespace porthole::winhost
