#include "winhost/bundle/container_users.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/files/file_system.h"
#include "runtime/files/mounts.h"
#include "winhost/bundle/overlay.h"

namespace porthole::winhost {
namespace {

constexpr std::uint32_t AnyRoot = 1'900'544'000;

/// As it is done for containers.
Result<void> try_overlay(const std::string& folder, const std::string& lower) {
    TRY(const OwnerMap owners, OwnerMap::create(AnyRoot));
    const std::string target = join_path(folder, "rootfs");
    const auto mounted =
        mount_overlay({.lowers = {lower}, .upper = join_path(folder, "upper"), .work = join_path(folder, "work")}, target, &owners);
    struct stat there{};
    const bool shown = mounted && ::stat(target.c_str(), &there) == 0 && there.st_uid == AnyRoot;
    TRY_VOID(unmount_below(folder));
    TRY_VOID(mounted);
    return shown ? Result<void>() : Error(Reason::Io, "an overlay does not keep the owners of its layers");
}

}  // namespace

Result<ContainerUsers> ContainerUsers::of_this_network() {
    ContainerUsers result;
    TRY(auto users, UserNamespace::owner_of("/proc/thread-self/ns/net"));
    if (!users) return result;
    TRY(const std::uint32_t root, users->root());
    TRY(OwnerMap owners, OwnerMap::create(root));
    result.mapped_ = std::make_shared<const Mapped>(Mapped{*std::move(users), std::move(owners), root});
    return result;
}

std::optional<OciUserNamespace> ContainerUsers::user_namespace() const {
    if (!mapped_) return std::nullopt;
    return OciUserNamespace{mapped_->users.path(), mapped_->root};
}

Result<void> ContainerUsers::give(const std::string& path) const {
    if (::lchown(path.c_str(), root(), root()) == 0) return {};
    return Error(Reason::Io, "changing the owner of " + path + ": " + std::strerror(errno));
}

Result<void> try_user_namespace(const std::string& folder, const std::string& lower) {
    namespace fs = std::filesystem;
    const std::string place = join_path(folder, "user-namespace-test");
    std::error_code failed, ignored;
    for (const char* name : {"upper", "work", "rootfs"})
        if (!failed) fs::create_directories(join_path(place, name), failed);
    if (!failed) fs::create_directories(lower, failed);
    const auto done = failed ? Result<void>(Error(Reason::Io, failed.message())) : try_overlay(place, lower);
    fs::remove_all(place, ignored);
    return done;
}

}  // namespace porthole::winhost
