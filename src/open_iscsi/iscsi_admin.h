#pragma once
#include <string>
#include <vector>

#include "runtime/processes/process.h"

namespace porthole::open_iscsi {

/// Exit codes of iscsiadm.
constexpr int NoTransport = 12, AlreadyThere = 15, NoAnswerOfDaemon = 18, NoDaemon = 20, NothingFound = 21;

/// How a run differs from an ordinary one.
struct AdminOptions {
    std::string program = "iscsiadm";
    std::string network_namespace;  ///< as in Command: iscsid listens in one only
    Duration limit = std::chrono::minutes(2);
};

/// Runs the machine's iscsiadm: `where` names the records ("-m", "node", …), `what` says what to do. No secrets: all programs of the
/// machine can see the words. Errors: NotFound without the program; Io with its message unless it ends with 0 or one of `also`.
Task<CommandOutput> run_iscsiadm(std::vector<std::string> where, std::vector<std::string> what, std::vector<int> also,
                                 ProcessRunner& programs, AdminOptions options = {});

}  // namespace porthole::open_iscsi
