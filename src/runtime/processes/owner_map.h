#pragma once
#include <cstdint>
#include <string>

#include "runtime/processes/user_namespace.h"

namespace porthole {

/// Shows files to a user namespace as its own (idmapped mounts, Linux 5.12): what root has on the disk belongs, where it is mounted by
/// this, to the root of the user namespace, and what that root makes there is root's on the disk. So nothing on a disk tells whether it was
/// used so. Files of the user namespace's users on the disk are root's there in turn; thus whatever root makes there can be stored, and is
/// not theirs. Blocking. Errors: Io, among others where the file system does not have it.
class OwnerMap {
public:
    /// For the user namespace whose root is `root` on the machine: not less than UserNamespace::Ids.
    static Result<OwnerMap> create(std::uint32_t root);

    /// The tree of one mount: not what is mounted below `source`. Programs there get no other user's rights by their mode, and devices are
    /// none.
    Result<void> mount(const std::string& source, const std::string& target) const;

private:
    explicit OwnerMap(UserNamespace ids) : ids_(std::move(ids)) {}

    UserNamespace ids_;
};

}  // namespace porthole
