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

/// The checked assumption with the host's actual answers in place of the assumed ones, so that parse_assumptions() can read a list of these
/// as the assumptions of that host. Ids and the adapter's name are replaced by the names that the calls use for them; everything else is as
/// sent by the calls.
schema::Value report_of(const CheckedAssumption& checked);

}  // namespace porthole::hns
