#include "runtime/files/durable_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "runtime/files/file_system.h"

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

Result<void> write_durably(const std::filesystem::path& path, const std::string& text, unsigned mode) {
    std::error_code ignored;  // of a working directory that has gone
    const std::u8string absolute = std::filesystem::absolute(path, ignored).u8string();
    return make_file_system()->replace({absolute.begin(), absolute.end()}, text, mode);
}

}  // namespace porthole
