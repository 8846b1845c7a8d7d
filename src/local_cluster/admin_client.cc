#include "local_cluster/admin_client.h"

#include <algorithm>
#include <cstdlib>

#include "base/version.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "local_cluster/state/cluster.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::local_cluster {
namespace {

/// Error: Unavailable where all processes of `porthole up` have ended: requests would only fail with "network is unreachable". While a
/// supervisor is missing alone, the API server still answers.
Result<void> check_is_running(const DataDir& data) {
    const auto cluster = Cluster::load(data);
    if (!cluster || is_running(cluster->supervisor)) return {};
    if (std::ranges::any_of(cluster->processes, [](const auto& process) { return is_running(process.second); })) return {};
    return Error(Reason::Unavailable,
                 "the cluster in " + data.root().string() + " is not running; start it with `porthole up" + data.flag() + "`");
}

}  // namespace

Result<std::unique_ptr<AdminClient>> connect_as_admin(AsioLoop& loop, const std::string& kubeconfig, const std::string& data) {
    const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    const auto files = make_file_system();
    // Else a mistyped name would choose the cluster that kubectl uses.
    if (!kubeconfig.empty() && !files->exists(kubeconfig))
        return Error(Reason::NotFound, "the kubeconfig " + kubeconfig + " does not exist");
    if (kubeconfig.empty() && data != default_data_dir() && !files->exists(data))
        return Error(Reason::NotFound, data + " does not exist; name the cluster's data directory with --data");
    std::vector<std::string> paths = client::kubeconfig_paths(variable("KUBECONFIG"), variable("HOME"));
    const auto local = DataDir(data).admin_kubeconfig();
    std::error_code code;
    const bool is_own = kubeconfig.empty() ? std::filesystem::exists(local, code) : kubeconfig == local;
    if (!kubeconfig.empty()) paths = {kubeconfig};
    if (is_own) paths = {local.string()};
    if (is_own) TRY_VOID(check_is_running(DataDir(data)));
    TRY(const auto document, client::load_kubeconfig(*files, paths));
    auto resolved = document.resolve(*files);
    if (!resolved && resolved.error().reason == Reason::NotFound && kubeconfig.empty() && !is_own)
        return Error(Reason::NotFound, "no cluster found in " + data + ", and no kubeconfig for kubectl (" + resolved.error().message +
                                           "); start a cluster with `porthole up`, or name its data directory with --data");
    TRY(auto config, std::move(resolved));
    config.direct = is_own;
    TRY(auto transport, client::make_http_transport(loop, config, std::string("porthole/") + PortholeVersion));
    auto admin = std::make_unique<AdminClient>(std::move(transport));
    admin->server = config.server;
    admin->direct = config.direct;
    admin->ca_pem = config.ca_pem;
    admin->certificate_pem = config.certificate_pem;
    return admin;
}

}  // namespace porthole::local_cluster
