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

/// Whether the constructors, the destructor and the assignments of the struct are defined in the generated source: those of kinds and of
/// large structs. Otherwise every source that copies, moves or destroys one compiles them, and those of all that they hold. Such a struct
/// is not an aggregate: `T{.name = "x"}` is for small ones.
bool is_outlined(const TypeDef& type);

}  // namespace porthole::schemac
