#include "local_cluster/state/windows_node.h"

#include <algorithm>
#include <cctype>

namespace porthole::local_cluster {

std::string WindowsNode::text() const { return wine_root.empty() ? profile : profile + "@" + wine_root; }

WindowsNode WindowsNode::from_text(std::string_view text) {
    const std::size_t at = text.find('@');
    return {.profile = std::string(text.substr(0, at)), .wine_root = at == text.npos ? "" : std::string(text.substr(at + 1))};
}

std::string WindowsNode::wine_root_in(const std::string& cluster_root) const {
    if (wine_root.empty()) return cluster_root;
    return wine_root == Installed ? "" : wine_root;
}

Result<void> check_wine_root_text(std::string_view wine_root) {
    const bool is_odd = std::ranges::any_of(wine_root, [](unsigned char c) { return c == ',' || std::iscntrl(c); });
    if (wine_root.empty() || wine_root == WindowsNode::Installed || (wine_root.starts_with('/') && !is_odd)) return {};
    return Error(Reason::BadRequest, "must be a whole path without commas, or `installed`");
}

}  // namespace porthole::local_cluster
