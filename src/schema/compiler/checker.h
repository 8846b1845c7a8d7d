#pragma once
#include <memory>
#include <vector>

#include "schema/compiler/parser.h"

namespace porthole::schemac {

/// Resolves references between packages, decides which structs are boxed, and reports dangling references (also of columns), duplicate
/// numbers and names, defaults of another type, and types that contain themselves by value. Fields then point into `packages`, whose types
/// must not move.
void check(std::vector<std::unique_ptr<Package>>& packages, Diagnostics& diagnostics);

/// The fields as in JSON, with inlined structs flattened, in writing order.
struct FlatField {
    const Field* field;
    const TypeDef* owner;  ///< the struct that declares it
    bool inlined;
};
std::vector<FlatField> flatten(const TypeDef& type);

}  // namespace porthole::schemac
