#pragma once  // private to this folder
#include <cstddef>
#include <memory>
#include <string>

namespace spdlog::sinks {
class sink;
}

namespace porthole {

/// Lines in `path`. Before it grows beyond `limit` bytes it becomes "name.1.log", and that "name.2.log", up to `old_files` of them.
std::shared_ptr<spdlog::sinks::sink> make_rotating_sink(const std::string& path, std::size_t limit, std::size_t old_files);

}  // namespace porthole
