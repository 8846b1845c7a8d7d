#pragma once
#include <string>

#include "base/result.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::local_cluster {

/// Writes the administrator's kubeconfig to admin.kubeconfig in the data directory. `server` is "https://10.0.0.5:6443"; for a cluster with
/// several servers, their common address is used instead. Error: NotFound if there are no certificates yet, Io.
Result<void> write_admin_kubeconfig(const DataDir& data, const std::string& server);
/// The same as text. Error: NotFound if no cluster has run from this data directory; Forbidden, Io.
Result<std::string> admin_kubeconfig(const DataDir& data);

/// Whether the administrator's certificate is of the authority that signs: after each step of a rotation, a running server replaces it
/// within some seconds. Error: NotFound if there are no certificates yet.
Result<bool> is_admin_current(const DataDir& data);

/// Adds the entry of admin.kubeconfig to `path`, which kubectl reads, and makes it the current context. The previous context is recorded in
/// the data directory.
Result<void> enter_kubeconfig(const DataDir& data, const std::string& path);
/// The first kubeconfig file that kubectl reads for this user.
std::string kubectl_file();
/// Whether enter_kubeconfig() would succeed, checked before there is a cluster. Creates the directory of the file.
Result<void> check_kubeconfig(const std::string& path);
/// Removes the entry from that file and makes the previous context current. An entry that another program has replaced stays.
Result<void> leave_kubeconfig(const DataDir& data);

}  // namespace porthole::local_cluster
