#pragma once
#include <string>
#include <vector>

#include "cmd/self_check/assumption.h"
#include "hns/assumptions/report.h"

namespace porthole::cmd::self_check {

/// The outcome of a check, whichever form the assumption has.
struct Finding {
    enum class Outcome {
        AsAssumed,
        AsWine,  ///< not as assumed, but as Wine is known to answer
        Differs,
        NotRun,
    };

    std::string area, id, says;
    Outcome outcome = Outcome::NotRun;
    std::vector<std::string> differences;  ///< for people; of NotRun: the reason
    /// The assumption with the host's answer in place of the assumed one, in the form that parse_assumptions() reads; null of NotRun.
    schema::Value observed;
};

/// Compares a probe's answer with the assumed one. A probe that failed answers {"fails": message}.
Finding judge(const Assumption& assumption, const Result<schema::Value>& answer, bool is_wine);
Finding not_run(const Assumption& assumption, std::string why);
/// A finding about the host network service.
Finding of_hns(const hns::CheckedAssumption& checked);

/// `host` unchanged, and the findings.
schema::Value report_of(schema::Value host, const std::vector<Finding>& findings);
/// A line for a person, and below it the differences.
std::string text_of(const Finding& finding);

}  // namespace porthole::cmd::self_check
