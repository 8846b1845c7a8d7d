#pragma once
#include <string>
#include <vector>

namespace porthole::cmd {

/// One sub-command of `porthole`.
struct SubCommand {
    const char* name;
    const char* summary;  ///< for the list that --help prints; nullptr hides it
    /// `arguments` without the program's and the command's name. Returns the process's exit code.
    int (*run)(std::vector<std::string> arguments);
};

int run_up(std::vector<std::string> arguments);
int run_supervise(std::vector<std::string> arguments);
int run_down(std::vector<std::string> arguments);
int run_status(std::vector<std::string> arguments);
int run_server(std::vector<std::string> arguments);
int run_kubelet(std::vector<std::string> arguments);
int run_kube_proxy(std::vector<std::string> arguments);
int run_flanneld(std::vector<std::string> arguments);
int run_win_bridge(std::vector<std::string> arguments);
int run_win_overlay(std::vector<std::string> arguments);
int run_wincni(std::vector<std::string> arguments);
int run_host_local(std::vector<std::string> arguments);
int run_flannel(std::vector<std::string> arguments);
int run_winnode(std::vector<std::string> arguments);
int run_winhost(std::vector<std::string> arguments);
int run_hns(std::vector<std::string> arguments);
int run_net(std::vector<std::string> arguments);
int run_agent(std::vector<std::string> arguments);
int run_image(std::vector<std::string> arguments);
int run_token(std::vector<std::string> arguments);
int run_join(std::vector<std::string> arguments);
int run_reset(std::vector<std::string> arguments);

}  // namespace porthole::cmd
