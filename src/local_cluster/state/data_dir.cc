#include "local_cluster/state/data_dir.h"

#include <cstdio>
#include <cstdlib>

#include "base/hash.h"

namespace porthole::local_cluster {
namespace {

/// Without links, as far as this user may look.
std::filesystem::path resolved(const std::filesystem::path& path) {
    std::error_code code;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path, code);
    return code ? path.lexically_normal() : found;
}

}  // namespace

DataDir::DataDir(const std::filesystem::path& root) : root_(resolved(std::filesystem::absolute(root))) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06x", static_cast<unsigned>(fnv1a_64(root_.string()) >> 40));
    id_ = digits;
}

std::string DataDir::flag() const {
    return root_ == resolved(std::filesystem::absolute(default_data_dir())) ? "" : " --data " + root_.string();
}

std::filesystem::path default_data_dir() {
    const char* chosen = std::getenv("PORTHOLE_DATA");
    return chosen && *chosen ? chosen : "/var/lib/porthole";
}

}  // namespace porthole::local_cluster
