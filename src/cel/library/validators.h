#pragma once
#include "cel/syntax/expression.h"

namespace porthole::cel {

/// Adds an issue for each literal that can only fail: durations, timestamps and patterns.
void validate_literals(const Expression& root, Issues& issues, Work& work);

/// Adds an issue for each list or map literal whose elements have different types. Arguments of `format` may be mixed.
void validate_homogeneous(const Expression& root, Issues& issues);

}  // namespace porthole::cel
