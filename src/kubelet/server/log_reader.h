#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time/time.h"
#include "runtime/event_loop.h"
#include "runtime/files/file_system.h"
#include "runtime/task.h"

namespace porthole::kubelet {

/// One line of a container's log file: `2026-01-01T00:00:00.123456789Z stdout F text`.
struct LogRecord {
    std::string_view time;    ///< RFC 3339 with nanoseconds, as written
    std::string_view stream;  ///< "stdout" or "stderr"
    bool partial = false;     ///< the line continues in the next record of the stream
    std::string_view text;    ///< without the line break
};
/// `line` without its line break; nullopt for one of another form.
std::optional<LogRecord> parse_log_line(std::string_view line);
/// Nanoseconds since 1970; nullopt for a text that is not a time.
std::optional<std::int64_t> parse_log_time(std::string_view text);

/// Which part of a log to return, from the query of `kubectl logs`.
struct LogOptions {
    bool follow = false, timestamps = false;
    std::optional<std::int64_t> tail_lines, limit_bytes;
    std::optional<std::int64_t> since;  ///< nanoseconds since 1970
    std::string stream;                 ///< "stdout", "stderr" or "" for both
};

/// Reads one log file from the position in the options to its end, or, when following, as long as `alive` returns true (checking every 200
/// ms), across rotations. References must outlive its task. A container of an emulated Windows host can write to its log's folder: only
/// regular files are read, and lines that no runtime writes are passed over.
class LogReader {
public:
    using Sink = std::function<Task<>(std::string text)>;
    LogReader(EventLoop& loop, FileSystem& files, std::string path, LogOptions options)
        : loop_(loop), files_(files), path_(std::move(path)), options_(std::move(options)) {}

    /// Error: NotFound if there is no log; that of the sink, which ends the reading.
    Task<> run(Sink sink, std::function<Task<bool>()> alive);

private:
    Task<std::uint64_t> first_offset();
    Result<std::string> next_chunk();
    std::string format(std::string_view line);
    bool limit_reached() const { return options_.limit_bytes && written_ >= *options_.limit_bytes; }
    void follow_rotation();

    EventLoop& loop_;
    FileSystem& files_;
    std::string path_;
    LogOptions options_;
    std::string current_path_;  ///< of the file being read: differs from path_ while a rotated one is read to its end
    std::uint64_t inode_ = 0, offset_ = 0;
    std::string rest_;           ///< a line that is not complete yet
    bool passing_over_ = false;  ///< a line that was too long
    bool in_partial_ = false;
    std::int64_t written_ = 0;
};

}  // namespace porthole::kubelet
