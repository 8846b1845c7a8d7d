#include "local_cluster/next_steps.h"

#include <algorithm>

namespace porthole::local_cluster {

std::string next_steps(const DataDir& data, const ClusterHealth& health) {
    const std::string flag = data.flag();
    if (!health.running) return "start it:  porthole up" + flag + "\nor delete it:  porthole down --purge" + flag + "\n";
    if (!health.process_not_running.empty()) {
        std::string log = health.process_not_running;
        std::ranges::replace(log, '/', '-');
        return health.process_not_running + " has ended and is started again; its log:  " + (data.logs() / (log + ".log")).string() + "\n";
    }
    if (!health.first_not_ready.empty() && !health.foreign) {
        return "see why " + health.first_not_ready + " is not Ready:  kubectl --context porthole describe node " + health.first_not_ready +
               "\nlogs:  " + data.logs().string() + "\n";
    }
    if (health.foreign) return "see them in their cluster:  kubectl get nodes\nend them:  porthole winnode leave" + flag + "\n";
    return "use it:  kubectl --context porthole get nodes\nwithout that context:  porthole kubeconfig" + flag +
           " > cluster.kubeconfig\nend it:  porthole down" + flag + "\n";
}

std::string server_notes(const DataDir& data, const std::string& server, const std::string& ca_hash) {
    const std::string join = " join " + server + " --token <token> --ca-cert-hash " + ca_hash + "\n";
    return "administrator:       kubectl --kubeconfig " + data.admin_kubeconfig().string() + " get nodes\n" +  //
           "token for a node:    porthole token create" + data.flag() + "\n" +                                 //
           "join, on Linux:      porthole" + join +                                                            //
           "join, on Windows:    porthole.exe" + join;
}

}  // namespace porthole::local_cluster
