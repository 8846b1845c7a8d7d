#pragma once  // private to this folder
#include <cstddef>
#include <memory>
#include <string>

#include "base/log.h"

namespace spdlog::sinks {
class sink;
}

namespace porthole {

/// Lines in `path`. Before it grows beyond `limit` bytes it becomes "name.1.log", and that "name.2.log", up to `old_files` of them.
std::shared_ptr<spdlog::sinks::sink> make_rotating_sink(const std::string& path, std::size_t limit, std::size_t old_files);

/// make_file_sink() with a limit of one's own, in bytes a file.
std::shared_ptr<LogSink> make_limited_file_sink(const std::string& path, LogLevel lowest, std::size_t limit);

}  // namespace porthole
