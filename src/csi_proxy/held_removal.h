#pragma once
// Private to this folder.
#include <optional>
#include <string>

#include "base/result.h"

namespace porthole::csi_proxy {

enum class Removal {
    One,       ///< a link, a file or an empty directory
    Tree,      ///< with everything below; fine if it is not there
    Contents,  ///< everything below
};

/// Removes `path`, which is below `directory`, so that anyone who changes names there meanwhile leads it nowhere else: every directory from
/// `directory` on is held open, entries are opened relative to the one that holds them, links are removed and not followed, and what is
/// removed is the open file. Nullopt where the system cannot: Linux, where only tests use this proxy, and Wine, which follows links of
/// Linux even so. Errors: NotFound, Forbidden for a link on the way, Io. Blocking.
std::optional<Result<void>> remove_held(const std::string& directory, const std::string& path, Removal what);

}  // namespace porthole::csi_proxy
