#pragma once
#include "cel/checker/declarations.h"
#include "cel/syntax/expression.h"

namespace porthole::cel {

/// Determines the type of every node and the overloads of every call, and stores them in the tree. Adds type errors to `issues`.
void check(Expression& root, const Declarations& declarations, Issues& issues, Work& work);

}  // namespace porthole::cel
