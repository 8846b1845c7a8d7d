#pragma once
#include <string>

#include "base/result.h"

namespace porthole::node_join {

/// A value of PATH with the directory appended, unless it contains it already in any spelling: "C:\k\" is C:\K.
std::string path_with(const std::string& path, const std::string& folder);

/// Adds the directory to the machine's PATH for programs that start later; true if it was missing. Running programs are not notified, as
/// that needs a desktop: the set-up script does it. Error: Io, Forbidden.
Result<bool> add_to_machine_path(const std::string& folder);
/// Likewise for a variable of this user.
Result<void> set_user_variable(const std::string& name, const std::string& value);

}  // namespace porthole::node_join
