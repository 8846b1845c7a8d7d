#include "provision/kubeconfig_file.h"

#include <algorithm>

#include "node_join/ca_rotation.h"

namespace porthole::provision {
namespace {

/// While the authority is rotated, each side may know one that the other does not.
bool have_common_authority(const std::string& one, const std::string& other) {
    const auto first = node_join::authority_ids(one), second = node_join::authority_ids(other);
    if (!first || !second) return false;
    return std::ranges::any_of(*first, [&](const std::string& id) { return std::ranges::find(*second, id) != second->end(); });
}

Error foreign(const std::string& path, const std::string& why) {
    return Error(Reason::AlreadyExists, path + " " + why + ": move it away, or name another file by --kubeconfig");
}

}  // namespace

Result<void> check_kubeconfig_file(FileSystem& files, const std::string& path, const std::string& name, const std::string& ca_pem) {
    if (!files.exists(path)) return {};
    const auto present = client::read_kubeconfig(files, path);
    if (!present || present->contexts() != std::vector{name}) return foreign(path, "is not the kubeconfig of cluster " + name + " alone");
    if (ca_pem.empty())
        return Error(Reason::AlreadyExists,
                     path + " belongs to a cluster " + name +
                         ", but no described host runs its server. Objects do not move to another server by themselves: "
                         "describe the previous server's host again, or move the file away to create a new cluster");
    const auto config = present->resolve(files, name);
    if (!config || !have_common_authority(config->ca_pem, ca_pem)) return foreign(path, "is of another cluster called " + name);
    return {};
}

Result<bool> write_kubeconfig_file(FileSystem& files, const std::string& path, const client::KubeconfigEntry& entry) {
    TRY_VOID(check_kubeconfig_file(files, path, entry.name, entry.ca_pem));
    if (const auto present = client::read_kubeconfig(files, path)) {
        const auto config = present->resolve(files, entry.name);
        const bool is_same = config && config->server == entry.server && config->ca_pem == entry.ca_pem &&
                             config->certificate_pem == entry.certificate_pem && config->key_pem == entry.key_pem;
        if (is_same) return false;
    }
    TRY_VOID(client::add_to_kubeconfig(files, path, entry));
    return true;
}

}  // namespace porthole::provision
