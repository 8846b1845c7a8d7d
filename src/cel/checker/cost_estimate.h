#pragma once
#include "cel/checker/cost.h"
#include "cel/checker/declarations.h"
#include "cel/syntax/expression.h"

namespace porthole::cel {

/// What evaluating the checked expression costs at least and at most, by the sizes that declared types carry.
CostRange estimate_cost(const Expression& checked, const Declarations& declarations);

}  // namespace porthole::cel
