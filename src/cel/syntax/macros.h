#pragma once
#include <span>

#include "cel/syntax/parser.h"

namespace porthole::cel::macros {

std::span<const Macro> standard();      ///< has, all, exists, exists_one, map, filter
std::span<const Macro> optionals();     ///< optMap, optFlatMap
std::span<const Macro> two_variable();  ///< all, exists, … with index or key, transformList, transformMap, transformMapEntry
std::span<const Macro> lists();         ///< sortBy
std::span<const Macro> math();          ///< math.least, math.greatest
std::span<const Macro> bindings();      ///< cel.bind

}  // namespace porthole::cel::macros
