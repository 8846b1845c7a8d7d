#pragma once
#include <string>

#include "schema/compiler/model.h"

namespace porthole::schemac {

/// The header with a package's structs, "api/core_v1.h".
std::string write_structs(const Package& package);

}  // namespace porthole::schemac
