#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::local_cluster {

/// What is wanted of an emulated Windows node.
struct WindowsNode {
    /// As `wine_root`, for the Wine that is installed on the machine.
    static constexpr std::string_view Installed = "installed";

    std::string profile;    ///< of the host: "2022"
    std::string wine_root;  ///< of its pods: directory of a Wine, Installed, or "" for what the cluster has
    bool operator==(const WindowsNode&) const = default;

    /// PROFILE[@WINE-ROOT], as in --nodes and in cluster.json: "2022", "2022@/srv/wine-10".
    std::string text() const;
    /// The reverse. Checks nothing: cluster.json has what was checked before.
    static WindowsNode from_text(std::string_view text);

    /// The directory of a Wine, "" for the installed one, on a node of a cluster that has `cluster_root`.
    std::string wine_root_in(const std::string& cluster_root) const;
};

/// Whether `wine_root` can be stored and be a part of --nodes: a whole path without commas and control characters, Installed, or "". Error:
/// BadRequest, which says what it must be.
Result<void> check_wine_root_text(std::string_view wine_root);

}  // namespace porthole::local_cluster
