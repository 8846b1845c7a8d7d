#pragma once
#include <algorithm>

#include "base/strings.h"
#include "cmd/doctor/check.h"
#include "cmd/doctor/evidence.h"

/// Shared by checks of the server's flags.
namespace porthole::cmd::doctor {

/// Judges a flag's value; a warning if the server does not report its flags.
template <class Judge>
void with_flag(const Evidence& evidence, Findings& findings, Item item, const char* name, Judge judge) {
    const auto value = evidence.flag(name);
    if (value) return judge(*value);
    if (!evidence.server_flags)
        return findings.warn(item, evidence.server_flags_error,
                             "allow this user to read /flagz of the server, or check the server's command line");
    judge(std::string());
}

/// Passes if `good` is true for the value; otherwise fails with the value and `remedy`.
template <class Good>
void require_flag(const Evidence& evidence, Findings& findings, Item item, const char* name, Good good, std::string remedy) {
    with_flag(evidence, findings, item, name, [&](const std::string& value) {
        const std::string shown = std::string("--") + name + "=" + value;
        good(value) ? findings.pass(item, shown)
                    : findings.fail(item, value.empty() ? std::string("--") + name + " is not set" : shown, remedy);
    });
}

inline bool has_word(const std::string& list, const std::string& word) {
    const auto words = split_list(list);
    return std::ranges::find(words, word) != words.end();
}

/// How to start the API server with an option, "profiling=false".
inline std::string start_with(const Evidence& evidence, const std::string& option) {
    if (!evidence.host || !evidence.host->up_data_flag) return "porthole server --" + option;
    const std::string& data = *evidence.host->up_data_flag;
    return "porthole down" + data + ", then porthole up" + data + " --server-arg " + option;
}

/// The same for an option that `porthole up --hardened` sets.
inline std::string start_hardened(const Evidence& evidence, const std::string& option) {
    if (!evidence.host || !evidence.host->up_data_flag) return "porthole server --" + option;
    const std::string& data = *evidence.host->up_data_flag;
    return "porthole down" + data + ", then porthole up" + data + " --hardened";
}

/// The remedy if no flag of `porthole server` sets it.
inline std::string remedy_elsewhere(const std::string& flag) { return "not a flag of `porthole server`; another server: set --" + flag; }

}  // namespace porthole::cmd::doctor
