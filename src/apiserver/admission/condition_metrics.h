#pragma once
#include <array>
#include <map>
#include <set>
#include <string>

#include "apiserver/admission/labelled_durations.h"

namespace porthole::apiserver {

/// The result of the match conditions of one webhook or policy for one request.
struct ConditionsEvaluated {
    std::string name;       ///< of the webhook or policy
    std::string kind;       ///< "webhook" or "policy"
    std::string type;       ///< "admit", "validating" or "validate"
    std::string operation;  ///< "CREATE", ...
    Duration taken{};
    std::size_t errors = 0;  ///< of conditions
    bool excluded = false;
};

/// Counts of match conditions under upstream's names. Beyond `MostNames` webhooks and policies, further ones are counted together under "".
class AdmissionConditionMetrics {
public:
    static constexpr std::size_t MostNames = 1024;

    void add(ConditionsEvaluated evaluated);
    void append(std::string& out) const;

private:
    static constexpr std::array<double, 7> Buckets{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25};

    std::set<std::string> names_;
    std::map<std::string, std::uint64_t> errors_, exclusions_;  // by label text
    LabelledDurations<Buckets> durations_;
};

}  // namespace porthole::apiserver
