#pragma once
#include <cstdint>
#include <string>

#include "runtime/processes/user_namespace.h"

namespace porthole {

/// Maps the owners of files for a user namespace (idmapped mounts, Linux 5.12): files of root on the disk appear, in mounts made by this
/// class, to belong to the root of the user namespace, and files that this root creates belong to root on the disk. So the disk does not
/// show that it was used in this way. Conversely, files of the user namespace's users on the disk appear to belong to root there: every
/// file can be stored, but they do not become those users'. Blocking. Errors: Io, also if the file system does not support it.
class OwnerMap {
public:
    /// For the user namespace whose root is `root` on the machine: not less than UserNamespace::Ids.
    static Result<OwnerMap> create(std::uint32_t root);

    /// The tree of one mount, without mounts below `source`. Set-user-id programs and devices have no effect there.
    Result<void> mount(const std::string& source, const std::string& target) const;

private:
    explicit OwnerMap(UserNamespace ids) : ids_(std::move(ids)) {}

    UserNamespace ids_;
};

}  // namespace porthole
