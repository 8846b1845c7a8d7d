#include "runtime/files/durable_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace porthole {

bool path_exists(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

Result<std::string> read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Error(Reason::Io, "cannot read " + path.string() + ": " + std::strerror(errno));
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

}  // namespace porthole
