#include <cstdlib>

#include "cmd/doctor/checks/server_flags.h"

namespace porthole::cmd::doctor {
namespace {

/// 0 keeps all, which is more than any number.
auto at_least(long wanted) {
    return [wanted](const std::string& value) {
        const long number = std::strtol(value.c_str(), nullptr, 10);
        return !value.empty() && (number == 0 || number >= wanted);
    };
}

}  // namespace

void check_audit_log(const Evidence& evidence, Findings& findings) {
    constexpr Item Kept{"1.2.16", "an audit log is kept"}, Age{"1.2.17", "audit logs are kept for 30 days"},
        Backups{"1.2.18", "ten old audit log files are kept"}, Size{"1.2.19", "an audit log file is limited to 100 MB"},
        Policy{"3.2.1", "an audit policy is set"}, Covers{"3.2.2", "the audit policy covers security-relevant requests"};
    require_flag(
        evidence, findings, Kept, "audit-log-path", [](const std::string& path) { return !path.empty(); },
        start_hardened(evidence, "audit-log-path=FILE"));
    const std::string on = evidence.flag("audit-log-path").value_or("");
    if (evidence.server_flags && on.empty()) {
        for (const Item& item : {Age, Backups, Size, Policy, Covers}) findings.not_applicable(item, "no audit log is kept");
        return;
    }
    require_flag(evidence, findings, Age, "audit-log-maxage", at_least(30), start_hardened(evidence, "audit-log-maxage=30"));
    require_flag(evidence, findings, Backups, "audit-log-maxbackup", at_least(10), start_hardened(evidence, "audit-log-maxbackup=10"));
    require_flag(evidence, findings, Size, "audit-log-maxsize", at_least(100), start_hardened(evidence, "audit-log-maxsize=100"));
    with_flag(evidence, findings, Policy, "audit-policy-file", [&](const std::string& file) {
        if (!file.empty()) {
            findings.pass(Policy, file);
            return findings.pass(Covers, "your own policy is in use; review it when your workloads change");
        }
        findings.pass(Policy, "the built-in policy");
        findings.pass(Covers,
                      "it records metadata of every write, refusal, and read of secrets: user, request, time and response code, no bodies");
    });
}

}  // namespace porthole::cmd::doctor
