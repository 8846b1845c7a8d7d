#include "node_join/windows_node/environment.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::node_join {
namespace {

std::string comparable(std::string folder) {
    while (folder.size() > 3 && (folder.back() == '\\' || folder.back() == '/')) folder.pop_back();
    std::ranges::replace(folder, '/', '\\');
    return to_lower(folder);
}

}  // namespace

std::string path_with(const std::string& path, const std::string& folder) {
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(';', start), path.size());
        if (comparable(path.substr(start, end - start)) == comparable(folder)) return path;
        start = end + 1;
    }
    return path + (path.empty() || path.back() == ';' ? "" : ";") + folder;
}

}  // namespace porthole::node_join
