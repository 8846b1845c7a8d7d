#include "kubelet/server/log_reader.h"

#include <algorithm>
#include <utility>

namespace porthole::kubelet {
namespace {

constexpr std::size_t ChunkBytes = 64 << 10;
constexpr std::size_t LongestLine = 128 << 10;  ///< bytes; runtimes begin another one after 16 KiB of text
constexpr Duration PollPeriod = std::chrono::milliseconds(200);

std::string_view take_word(std::string_view& text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return {};
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space + 1);
    return word;
}

}  // namespace

std::optional<LogRecord> parse_log_line(std::string_view line) {
    LogRecord record;
    record.time = take_word(line);
    record.stream = take_word(line);
    // The tags may be a list with ':' between them; the first says whether the line is complete.
    std::string_view tags = take_word(line);
    if (tags.empty() && (line == "F" || line == "P")) {
        tags = line;
        line = {};
    }
    tags = tags.substr(0, tags.find(':'));
    if (record.time.empty() || (record.stream != "stdout" && record.stream != "stderr") || (tags != "F" && tags != "P"))
        return std::nullopt;
    record.partial = tags == "P";
    record.text = line;
    return record;
}

std::optional<std::int64_t> parse_log_time(std::string_view text) {
    const auto seconds = Timestamp::parse(text);
    if (!seconds) return std::nullopt;
    std::int64_t fraction = 0, unit = 100'000'000;
    if (const std::size_t dot = text.find('.'); dot != std::string_view::npos)
        for (std::size_t i = dot + 1; i < text.size() && text[i] >= '0' && text[i] <= '9' && unit > 0; ++i, unit /= 10)
            fraction += (text[i] - '0') * unit;
    const std::int64_t whole = seconds->nanoseconds();
    return whole > INT64_MAX - fraction ? whole : whole + fraction;
}

/// Where the last `tail_lines` lines begin: looks for line breaks from the end.
Task<std::uint64_t> LogReader::first_offset() {
    CO_TRY(const FileStatus status, files_.link_status(path_));
    inode_ = status.inode;
    if (!options_.tail_lines) co_return std::uint64_t(0);
    std::int64_t wanted = *options_.tail_lines;
    if (wanted <= 0) co_return status.size;
    std::uint64_t end = status.size;
    bool last_byte = true;
    while (end > 0) {
        const std::uint64_t begin = end > ChunkBytes ? end - ChunkBytes : 0;
        CO_TRY(const std::string block, files_.read_untrusted(path_, begin, end - begin));
        for (std::size_t i = block.size(); i-- > 0;) {
            if (block[i] == '\n' && !last_byte && --wanted == 0) co_return begin + i + 1;
            last_byte = false;
        }
        end = begin;
        CO_TRY_VOID(co_await loop_.sleep(Duration::zero()));
    }
    co_return std::uint64_t(0);
}

Result<std::string> LogReader::next_chunk() {
    TRY(const std::string chunk, files_.read_untrusted(current_path_, offset_, ChunkBytes));
    offset_ += chunk.size();
    std::string out;
    std::size_t at = 0, from = rest_.size();  // where a line break may be
    rest_ += chunk;
    for (std::size_t end; (end = rest_.find('\n', from)) != std::string::npos && !limit_reached(); at = from = end + 1)
        if (!std::exchange(passing_over_, false)) out += format(std::string_view(rest_).substr(at, end - at));
    rest_.erase(0, at);
    if (rest_.size() > LongestLine && !limit_reached()) {
        rest_.clear();
        passing_over_ = true;
    }
    return out;
}

std::string LogReader::format(std::string_view line) {
    const auto record = parse_log_line(line);
    if (!record) return "";
    if (!options_.stream.empty() && record->stream != options_.stream) return "";
    if (options_.since) {
        const auto time = parse_log_time(record->time);
        if (time && *time < *options_.since) return "";
    }
    std::string out;
    if (options_.timestamps && !in_partial_) out.append(record->time) += ' ';
    out += record->text;
    if (!record->partial) out += '\n';
    in_partial_ = record->partial;
    if (options_.limit_bytes) out.resize(std::min<std::size_t>(out.size(), *options_.limit_bytes - written_));
    written_ += static_cast<std::int64_t>(out.size());
    return out;
}

/// At the end of a file: when another one has taken its name, finish the old one where it was put, then go on with the new one.
void LogReader::follow_rotation() {
    const auto now = files_.link_status(path_);
    if (!now) return;
    if (now->inode == inode_) {
        if (now->size < offset_) offset_ = 0;  // cut in place
        return;
    }
    if (current_path_ == path_) {
        for (const std::string& name : files_.list(parent_path(path_)).value_or(std::vector<std::string>())) {
            const std::string other = join_path(parent_path(path_), name);
            const auto status = files_.link_status(other);
            if (!status || status->inode != inode_) continue;
            current_path_ = other;
            if (status->size > offset_) return;
        }
    }
    current_path_ = path_;
    inode_ = now->inode;
    offset_ = 0;
    rest_.clear();
    passing_over_ = false;
}

Task<> LogReader::run(Sink sink, std::function<Task<bool>()> alive) {
    CO_TRY(offset_, co_await first_offset());
    current_path_ = path_;
    bool last_round = !options_.follow;
    while (!limit_reached()) {
        const std::uint64_t before = offset_;
        CO_TRY(std::string out, next_chunk());
        CO_TRY_VOID(co_await (out.empty() ? loop_.sleep(Duration::zero()) : sink(std::move(out))));
        if (offset_ != before) continue;
        if (last_round) break;
        const std::uint64_t inode = inode_;
        const std::string reading = current_path_;
        follow_rotation();
        if (inode_ != inode || current_path_ != reading || offset_ != before) continue;
        CO_TRY(const bool lives, co_await alive());
        last_round = !lives;  // what was written before the end is still to be read
        if (lives) CO_TRY_VOID(co_await loop_.sleep(PollPeriod));
    }
    co_return {};
}

}  // namespace porthole::kubelet
