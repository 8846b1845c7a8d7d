#include "cmd/bundle/machine_facts.h"

namespace porthole::cmd::bundle {

std::vector<MachineFact> machine_facts(const std::string& own_program) {
    return {
        {"porthole.txt", {own_program, "--version"}},
        {"system.txt", {"cmd", "/c", "ver"}},
        {"hns.txt", {own_program, "hns", "list"}},
        {"hns.json", {own_program, "hns", "list", "--output=json"}},
        {"addresses.txt", {"ipconfig", "/all"}},
        {"routes.txt", {"route", "print"}},
        {"interfaces.txt", {"netsh", "interface", "ipv4", "show", "subinterfaces"}},
        {"excluded_ports.txt", {"netsh", "interface", "ipv4", "show", "excludedportrange", "protocol=tcp"}},
        {"services.txt", {"sc", "query", "state=", "all"}},
        {"processes.txt", {"tasklist"}},
        {"containerd.txt", {"containerd", "--version"}},
    };
}

}  // namespace porthole::cmd::bundle
