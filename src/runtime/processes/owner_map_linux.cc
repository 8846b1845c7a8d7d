#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/processes/owner_map.h"

namespace porthole {

Result<OwnerMap> OwnerMap::create(std::uint32_t root) {
    TRY(UserNamespace ids, UserNamespace::create({{0, root, UserNamespace::Ids}, {root, 0, UserNamespace::Ids}}));
    return OwnerMap(std::move(ids));
}

Result<void> OwnerMap::mount(const std::string& source, const std::string& target) const {
    const auto failure = [&](const char* what) {
        return Error(Reason::Io, std::string(what) + " " + source + " with other owners: " + std::strerror(errno));
    };
    const int tree = ::open_tree(AT_FDCWD, source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0) return failure("opening");
    Result<void> mounted;
    struct mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    attributes.userns_fd = static_cast<std::uint64_t>(ids_.descriptor());
    if (::mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
        mounted = failure("showing");
    else if (::move_mount(tree, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
        mounted = failure("mounting");
    ::close(tree);
    return mounted;
}

}  // namespace porthole
