#pragma once
#include <memory>
#include <string>
#include <vector>

#include "schema/compiler/model.h"

namespace porthole::schemac {

/// The source with a package's tables, "core_v1.cc".
std::string write_tables(const Package& package);
/// The source with the list of all kinds, in the order of `packages`.
std::string write_registry(const std::vector<std::unique_ptr<Package>>& packages);

}  // namespace porthole::schemac
