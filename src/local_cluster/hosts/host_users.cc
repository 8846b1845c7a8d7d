#include "local_cluster/hosts/host_users.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "runtime/processes/user_namespace.h"
#include "winhost/bundle/container_users.h"
#include "winhost/template/wine_template.h"

namespace porthole::local_cluster {
namespace {

constexpr std::uint32_t FirstRoot = 1'900'544'000, Ranges = 3700;  // up to 2143027199: signed 32-bit numbers hold them

}  // namespace

std::uint32_t root_of_host(const std::string& network_namespace) {
    return FirstRoot + fnv1a_32(network_namespace) % Ranges * UserNamespace::Ids;
}

Result<void> give_network_to_host(const std::string& network_namespace, const std::string& data) {
    if (!winhost::try_user_namespace(data, winhost::default_cache_folder())) return {};
    TRY(const UserNamespace users, UserNamespace::create({{0, root_of_host(network_namespace), UserNamespace::Ids}}));
    const std::string path = "/run/netns/" + network_namespace;
    if (::umount2(path.c_str(), MNT_DETACH) != 0) return Error(Reason::Io, "unmounting " + path + ": " + std::strerror(errno));
    return users.make_network_namespace(path);
}

}  // namespace porthole::local_cluster
