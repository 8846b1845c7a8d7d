#include "cmd/server/server_election.h"

#include <unistd.h>

#include "base/result.h"
#include "cmd/program/duration_flag.h"

namespace porthole::cmd {
namespace {

/// How much later than --leader-elect-retry-period a candidate may try again.
constexpr double LongestRetry = 1.2;

}  // namespace

void add_election_flags(CLI::App& app, ElectionFlags& flags, CLI::Option* etcd) {
    app.add_flag("--leader-elect", flags.leader_elect,
                 "run the controllers and the scheduler on one server of an etcd at a time; false: always run them on this server")
        ->needs(etcd)
        ->default_str("true");
    add_duration(app, "--leader-elect-lease-duration", flags.timing.lease,
                 "time after which another server replaces a leader that has not renewed its lease")
        ->needs(etcd);
    add_duration(app, "--leader-elect-renew-deadline", flags.timing.renew, "time after which a leader that cannot renew its lease stops")
        ->needs(etcd);
    add_duration(app, "--leader-elect-retry-period", flags.timing.retry, "time between two attempts to get or renew a lease")->needs(etcd);
    app.add_option("--endpoint-reconciler-type", flags.endpoint_reconciler_type,
                   "lease: the endpoints of the service \"kubernetes\" are the running servers; none: its endpoints are not changed")
        ->check(CLI::IsMember({"lease", "none"}))
        ->capture_default_str();
}

Result<void> check_election_flags(const ElectionFlags& flags) {
    const auto& timing = flags.timing;
    if (timing.lease <= timing.renew)
        return Error(Reason::BadRequest, "--leader-elect-lease-duration: it must be longer than --leader-elect-renew-deadline");
    if (timing.renew <= std::chrono::duration_cast<Duration>(LongestRetry * timing.retry))
        return Error(Reason::BadRequest, "--leader-elect-renew-deadline: it must be longer than 1.2 times --leader-elect-retry-period");
    if (timing.lease < std::chrono::seconds(1)) return Error(Reason::BadRequest, "--leader-elect-lease-duration: at least 1s");
    return {};
}

std::string election_identity(const std::string& uuid) {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return std::string(name) + "_" + uuid;
}

}  // namespace porthole::cmd
