#pragma once
#include <functional>
#include <string>
#include <vector>

#include "client/client.h"
#include "cmd/verify/workload.h"
#include "runtime/event_loop.h"
#include "runtime/random.h"

namespace porthole::cmd::verify {

/// Options of the check.
struct VerificationOptions {
    Images images;
    std::string outside;  ///< a URL beyond the cluster; "": that is not checked
    std::string cluster_domain = "cluster.local";
    int host_port = 43080;                          ///< 0: not checked
    Duration patience = std::chrono::seconds(120);  ///< for pods to start, and again for their attempts
};

/// The checks and their results.
struct Report {
    std::vector<Node> nodes;
    std::vector<Check> checks;          ///< in the order of flows
    Outcomes outcomes;                  ///< of all checks
    std::vector<std::string> left_out;  ///< nodes that could not be checked, and why

    bool passed() const;
};

/// Checks the network of any cluster by pods on all of its nodes: servers, a service in front of them, and pods that try to reach both and
/// report in their logs. Needs only the API, and rights for its own namespace, which is deleted at the end. References outlive run(); call
/// that once.
class Verification {
public:
    using Told = std::function<void(const std::string& step)>;
    Verification(EventLoop& loop, client::Client& client, Random& random, VerificationOptions options, Told told);

    /// Error: the API's; NotFound if no node can be checked.
    Task<Report> run();

private:
    Task<Report> run_in_namespace();
    Task<> find_nodes();
    Task<> make_namespace();
    Task<> start_servers();
    Task<> create_pod(core::Pod pod);
    Task<> wait_for_servers();
    Task<> read_service();
    Task<> probe();
    Task<> probe_round(int round, std::vector<std::size_t> open);
    Task<> wait_for_probers(std::vector<std::string> names);
    Task<> read_log(std::string name);
    void leave_out_untold();
    bool drop_unready(const std::vector<core::Pod>& pods);

    EventLoop& loop_;
    client::Client& client_;
    VerificationOptions options_;
    Told told_;
    Service service_;
    Report report_;
};

/// For people. `everything` also lists passed checks.
std::string to_text(const Report& report, bool everything);
schema::Value to_value(const Report& report);

}  // namespace porthole::cmd::verify
