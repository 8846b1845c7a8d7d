#pragma once  // private to this folder
#include <cstddef>
#include <memory>
#include <string>

namespace spdlog::sinks {
class sink;
}

namespace porthole {

/// Writes to `path`. Before the file exceeds `limit` bytes it is renamed to "name.1.log", and that one to "name.2.log", up to `old_files`
/// of them.
std::shared_ptr<spdlog::sinks::sink> make_rotating_sink(const std::string& path, std::size_t limit, std::size_t old_files);

}  // namespace porthole
