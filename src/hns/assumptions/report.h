#pragma once
#include <string>
#include <vector>

#include "hns/assumptions/check.h"
#include "schema/value.h"

namespace porthole::hns {

/// An assumption and what came of its check.
struct CheckedAssumption {
    Assumption assumption;
    Finding finding;
};

/// The report of a host: `host` as it is given, and the assumptions that were checked, with what the host answered in place of what was
/// assumed, so that parse_assumptions() reads it as the assumptions of that host. Ids and the adapter's name are replaced by what the
/// calls call them; the rest is what the calls themselves sent.
schema::Value report_of(schema::Value host, const std::vector<CheckedAssumption>& checked);

}  // namespace porthole::hns
