#pragma once
#include "client/kubeconfig.h"

/// The administrator's kubeconfig of a cluster elsewhere: a file of its own, with one entry of the cluster's name. A file with anything
/// else is never changed.
namespace porthole::provision {

/// Error: AlreadyExists if there is a file at `path` with other entries, or with one of another cluster of that name; `ca_pem` "" stands
/// for a cluster that is yet to be made.
Result<void> check_kubeconfig_file(FileSystem& files, const std::string& path, const std::string& name, const std::string& ca_pem);

/// Writes it with mode 0600, unless it is there as `entry` says; false in this case. Errors: as check_kubeconfig_file(), and Io.
Result<bool> write_kubeconfig_file(FileSystem& files, const std::string& path, const client::KubeconfigEntry& entry);

}  // namespace porthole::provision
