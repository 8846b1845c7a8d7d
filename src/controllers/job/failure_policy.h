#pragma once
#include <optional>
#include <string>

#include "api/batch_v1.h"

namespace porthole::controllers {

/// The verdict of spec.podFailurePolicy on one failed pod.
struct FailureVerdict {
    enum class Action { Count, FailJob, FailIndex, Ignore } action = Action::Count;
    std::string message;  ///< why, for FailJob and FailIndex
};
/// Uses the first rule that matches; Count if none does or there is no policy.
FailureVerdict judge_failure(const api::batch::v1::JobSpec& spec, const api::core::v1::Pod& pod);

}  // namespace porthole::controllers
