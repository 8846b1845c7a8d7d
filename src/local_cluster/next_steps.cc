#include "local_cluster/next_steps.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "local_cluster/processes/child_process.h"

namespace porthole::local_cluster {

std::string typed_program() {
    const std::filesystem::path own = own_program();
    std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
    for (std::string folder; std::getline(path, folder, ':');) {
        std::error_code code;
        const auto found = std::filesystem::path(folder) / "porthole";
        if (!std::filesystem::exists(found, code)) continue;
        if (std::filesystem::equivalent(found, own, code)) return "porthole";
        break;
    }
    return own.string();
}

std::string next_steps(const DataDir& data, const ClusterHealth& health, const std::string& program) {
    const std::string flag = data.flag();
    if (!health.running) return "start it:  " + program + " up" + flag + "\nor delete it:  " + program + " down --purge" + flag + "\n";
    if (!health.process_not_running.empty()) {
        std::string log = health.process_not_running;
        std::ranges::replace(log, '/', '-');
        return health.process_not_running + " has exited and is being restarted; its log:  " + (data.logs() / (log + ".log")).string() +
               "\n";
    }
    if (!health.first_not_ready.empty() && !health.foreign) {
        return "see why " + health.first_not_ready + " is not Ready:  kubectl --context porthole describe node " + health.first_not_ready +
               "\nlogs:  " + data.logs().string() + "\n";
    }
    if (health.foreign) return "see them in their cluster:  kubectl get nodes\nend them:  " + program + " winnode leave" + flag + "\n";
    return "use it:  kubectl --context porthole get nodes\nwithout that context:  " + program + " kubeconfig" + flag +
           " > cluster.kubeconfig\nsee it work:  " + program + " sample web" + flag + "\ncheck its network:  " + program + " net verify" +
           flag + "\nend it:  " + program + " down" + flag + "\n";
}

std::string up_notes(const DataDir& data, const std::string& program, const std::string& sudo_user) {
    const std::string own_kubectl = "for kubectl of " + sudo_user + ":  sudo " + program + " kubeconfig" + data.flag() +
                                    " > porthole.kubeconfig; export KUBECONFIG=$PWD/porthole.kubeconfig\n";
    return (sudo_user.empty() || sudo_user == "root" ? "" : own_kubectl) + "see it work:  " + program + " sample web" + data.flag() +
           "\nmore:  " + program + " status" + data.flag() + "\n";
}

std::string server_notes(const DataDir& data, const std::string& server, const std::string& ca_hash) {
    const std::string join = " join " + server + " --token <token> --ca-cert-hash " + ca_hash + "\n";
    return "administrator:       kubectl --kubeconfig " + data.admin_kubeconfig().string() + " get nodes\n" +  //
           "token for a node:    porthole token create" + data.flag() + "\n" +                                 //
           "join, on Linux:      porthole" + join +                                                            //
           "join, on Windows:    porthole.exe" + join;
}

}  // namespace porthole::local_cluster
