#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::cmd::self_check {

/// Something that is assumed of Windows and was seen under Wine or on emulated hosts only, as assumptions.yaml has it. A value.
struct Assumption {
    std::string area, id, says;
    std::string needs;    ///< apart from Windows: "", "administrator", or "cluster", which this program has not
    std::string by;       ///< of "cluster": what shows it
    schema::Value shows;  ///< the assumed answer of the probe, in the form of hns/assumptions/expectation.h
    schema::Value wine;   ///< what Wine is known to answer instead; null for the same
};

/// All of this build, in the order of assumptions.yaml; those of HNS are in hns/assumptions.
const std::vector<Assumption>& assumptions();
/// From YAML or JSON: a file as assumptions.yaml, or a host's report, whose answers are then the assumed ones. Entries of HNS are left out.
/// Errors: BadRequest with the assumption's id.
Result<std::vector<Assumption>> parse_assumptions(std::string_view text);

}  // namespace porthole::cmd::self_check
