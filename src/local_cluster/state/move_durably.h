#pragma once
#include <filesystem>

#include "base/result.h"

namespace porthole::local_cluster {

/// A rename that the machine's power cannot undo. Blocks. Error: Io.
Result<void> move_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace porthole::local_cluster
