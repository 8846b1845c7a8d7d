#pragma once
#include <array>
#include <map>
#include <set>
#include <string>

#include "apiserver/admission/labelled_durations.h"

namespace porthole::apiserver {

/// For metrics: one expression of a policy that was evaluated for a request and had an effect.
struct PolicyCheck {
    std::string policy, binding;
    std::string error_type;   ///< "no_error", "compile_error", "invalid_error" or "out_of_budget"
    std::string enforcement;  ///< of a validating policy: "allow", "deny", "warn" or "audit"
    Duration taken{};         ///< by the policy as a whole
};

/// "compile_error" and so on, from the text of an error.
std::string policy_error_type(const std::string& error);

/// Counts of policies' checks under upstream's names. Beyond `MostNames` pairs of a policy and a binding, which can be created at any rate,
/// further ones are counted together under the names "".
class AdmissionPolicyMetrics {
public:
    static constexpr std::size_t MostNames = 1024;

    void add_validation(PolicyCheck check);
    void add_mutation(PolicyCheck check);
    void append(std::string& out) const;

private:
    static constexpr std::array<double, 5> Buckets{0.0000005, 0.001, 0.01, 0.1, 1.0};
    struct Checks {
        std::map<std::string, std::uint64_t> counts;  // by label text
        LabelledDurations<Buckets> durations;
    };
    std::string labels_of(PolicyCheck& check);
    static void count(Checks& checks, const std::string& labels, Duration taken);

    std::set<std::string> names_;
    Checks validations_, mutations_;
};

}  // namespace porthole::apiserver
