#pragma once
// Private to this folder, and to the check of what it assumes of Windows.
#include <optional>
#include <string>

#include "base/result.h"

namespace porthole::csi_proxy {

enum class Removal {
    One,       ///< a link, a file or an empty directory
    Tree,      ///< with everything below; fine if it is not there
    Contents,  ///< everything below
};

/// Removes `path`, which is below `directory`, in such a way that a concurrent change of names cannot redirect it: every directory from
/// `directory` on is held open, entries are opened relative to the one that contains them, links are removed and not followed, and the
/// opened file itself is removed. Nullopt if the system does not support it: Linux, where only tests use this proxy, and Wine, which
/// follows links of Linux anyway. Errors: NotFound, Forbidden for a link on the way, Io. Blocking.
std::optional<Result<void>> remove_held(const std::string& directory, const std::string& path, Removal what);

}  // namespace porthole::csi_proxy
