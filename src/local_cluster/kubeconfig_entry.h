#pragma once
#include <string>

#include "base/result.h"
#include "local_cluster/data_dir.h"

namespace porthole::local_cluster {

/// Writes the administrator's kubeconfig to admin.kubeconfig in the data directory. `server` is "https://10.0.0.5:6443";
/// where the directory is of a cluster with several servers, the address behind which they all are takes its place. Error: NotFound where
/// there are no certificates yet, Io.
Result<void> write_admin_kubeconfig(const DataDir& data, const std::string& server);
/// The same as text. Error: NotFound when no cluster has run from this data directory; Forbidden, Io.
Result<std::string> admin_kubeconfig(const DataDir& data);

/// Adds the entry of admin.kubeconfig to `path`, where kubectl looks, and makes it the current
/// context. What was current before is recorded in the data directory.
Result<void> enter_kubeconfig(const DataDir& data, const std::string& path);
/// The file of this user in which kubectl looks first.
std::string kubectl_file();
/// Whether enter_kubeconfig could do that, asked before there is a cluster. Makes the folder of the file.
Result<void> check_kubeconfig(const std::string& path);
/// Removes it from that file again and makes current what was before. What another program has put in its place stays.
Result<void> leave_kubeconfig(const DataDir& data);

}  // namespace porthole::local_cluster
