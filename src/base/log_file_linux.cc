#include "base/log_file.h"

#include <spdlog/sinks/rotating_file_sink.h>

namespace porthole {

std::shared_ptr<spdlog::sinks::sink> make_rotating_sink(const std::string& path, std::size_t limit, std::size_t old_files) {
    return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, limit, old_files);
}

}  // namespace porthole
