#pragma once
#include "cel/checker/cost.h"
#include "cel/checker/declarations.h"
#include "cel/syntax/expression.h"

namespace porthole::cel {

/// The minimum and maximum cost of evaluating the checked expression, from the sizes in declared types.
CostRange estimate_cost(const Expression& checked, const Declarations& declarations);

}  // namespace porthole::cel
