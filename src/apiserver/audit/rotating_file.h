#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace porthole::apiserver {

/// Appends lines to a file that only its owner reads. A full one is renamed, as upstream's are, to "audit-2026-11-22T17-05-09.123.log".
class RotatingFile {
public:
    using Time = std::chrono::sys_time<std::chrono::nanoseconds>;
    struct Options {
        std::filesystem::path path;
        std::uintmax_t most_bytes = 100 << 20;  ///< of one file; a longer line gets its own file
        std::size_t most_backups = 10;          ///< 0: any number
        std::chrono::days oldest{30};           ///< 0: any age
    };
    explicit RotatingFile(Options options) : options_(std::move(options)) {}
    ~RotatingFile();
    RotatingFile(const RotatingFile&) = delete;

    /// Blocks. Requires: `lines` ends with a line break. Error: Io; then some of the lines may have been written, but none partially:
    /// an incomplete line is cut off, or ended by the next call if the file cannot be truncated.
    Result<void> append(std::string_view lines, Time now);

private:
    Result<void> open();
    Result<void> rotate(Time now);
    void remove_old(Time now) const;
    Result<void> write(std::string_view text);
    Result<void> write_all(std::string_view text);
    void cut_off_partial_line(std::string_view written);

    const Options options_;
    int file_ = -1;
    std::uintmax_t size_ = 0;
    bool torn_ = false;  ///< the last line is incomplete
};

}  // namespace porthole::apiserver
