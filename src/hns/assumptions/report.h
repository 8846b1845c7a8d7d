#pragma once
#include <string>
#include <vector>

#include "hns/assumptions/check.h"
#include "schema/value.h"

namespace porthole::hns {

/// An assumption and the result of its check.
struct CheckedAssumption {
    Assumption assumption;
    Finding finding;
};

/// The report of a host: `host` unchanged, and the checked assumptions with the host's actual answers in place of the assumed ones, so that
/// parse_assumptions() can read the report as the assumptions of that host. Ids and the adapter's name are replaced by the names that the
/// calls use for them; everything else is as sent by the calls.
schema::Value report_of(schema::Value host, const std::vector<CheckedAssumption>& checked);

}  // namespace porthole::hns
