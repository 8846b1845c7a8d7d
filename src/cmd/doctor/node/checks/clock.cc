#include <cstdlib>

#include "cmd/doctor/node/node_check.h"

namespace porthole::cmd::doctor {

void check_node_clock(const NodeEvidence& evidence, Findings& findings) {
    constexpr std::int64_t Tolerated = 30;  // seconds, as at joining
    const Item item{"", "the clock is in step with the API server's"};
    if (!evidence.seconds_behind && evidence.server.empty())
        return findings.fail(item, "no API server is known: " + evidence.server_error, "join the cluster, or copy a kubeconfig there");
    if (!evidence.seconds_behind)
        return findings.fail(item, "the API server at " + evidence.server + " does not answer: " + evidence.server_error,
                             "check the address, and that no firewall is in between");
    const std::int64_t seconds = *evidence.seconds_behind;
    if (std::llabs(seconds) <= Tolerated) return findings.pass(item);
    findings.fail(item, "it is " + std::to_string(std::llabs(seconds)) + " s " + (seconds > 0 ? "behind" : "ahead"),
                  evidence.windows ? "w32tm /resync" : "timedatectl set-ntp true");
}

}  // namespace porthole::cmd::doctor
