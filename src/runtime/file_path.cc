#include "runtime/file_system.h"

namespace porthole {

std::string join_path(std::string_view base, std::string_view part) {
    while (part.starts_with('/')) part.remove_prefix(1);
    std::string joined(base);
    if (part.empty()) return joined;
    if (!joined.ends_with('/')) joined += '/';
    return joined.append(part);
}

std::string parent_path(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return ".";
    return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string base_name(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace porthole
