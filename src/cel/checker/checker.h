#pragma once
#include "cel/checker/declarations.h"
#include "cel/syntax/expression.h"

namespace porthole::cel {

/// Finds the type of every node and the overloads of every call, and writes them into the tree. Adds what does not fit to `issues`.
void check(Expression& root, const Declarations& declarations, Issues& issues, Work& work);

}  // namespace porthole::cel
