#include "apiserver/audit/rotating_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace porthole::apiserver {
namespace {

namespace fs = std::filesystem;
using Time = RotatingFile::Time;

constexpr std::size_t StampSize = std::string_view("2026-11-22T17-05-09.123").size();

Error file_error(const char* what, const fs::path& path) {
    return Error(Reason::Io, std::string(what) + " " + path.string() + ": " + std::strerror(errno));
}

/// Sorts as its time does.
std::string stamp(Time time) {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - days));
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d-%02d-%02d.%03d", int(date.year()), unsigned(date.month()), unsigned(date.day()),
                  int(clock.hours().count()), int(clock.minutes().count()), int(clock.seconds().count()), int(clock.subseconds().count()));
    return text;
}

std::string backup_prefix(const fs::path& path) { return path.stem().string() + "-"; }

fs::path backup_path(const fs::path& path, Time time) {
    return path.parent_path() / (backup_prefix(path) + stamp(time) + path.extension().string());
}

/// The stamps of the backups of `path`, newest first.
std::vector<std::string> backups_of(const fs::path& path) {
    const std::string prefix = backup_prefix(path), suffix = path.extension().string();
    std::vector<std::string> stamps;
    std::error_code error;  // what cannot be read now is removed at a later rotation
    for (fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.size() == prefix.size() + StampSize + suffix.size() && name.starts_with(prefix) && name.ends_with(suffix))
            stamps.push_back(name.substr(prefix.size(), StampSize));
    }
    std::ranges::sort(stamps, std::greater());
    return stamps;
}

}  // namespace

RotatingFile::~RotatingFile() {
    if (file_ >= 0) ::close(file_);
}

Result<void> RotatingFile::append(std::string_view lines, Time now) {
    if (file_ < 0) TRY_VOID(open());
    while (!lines.empty()) {
        std::size_t end = 0;  // of the lines that this file takes
        while (end < lines.size()) {
            const std::size_t next = lines.find('\n', end) + 1;
            const bool fits = size_ + next <= options_.most_bytes || (size_ == 0 && end == 0);
            if (!fits) break;
            end = next;
        }
        TRY_VOID(write(lines.substr(0, end)));
        lines.remove_prefix(end);
        if (!lines.empty()) TRY_VOID(rotate(now));
    }
    return {};
}

Result<void> RotatingFile::open() {
    file_ = ::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat status{};
    if (file_ < 0 || ::fstat(file_, &status) != 0) return file_error("cannot write the audit log", options_.path);
    // Earlier versions left it readable to all.
    if ((status.st_mode & 077) != 0 && S_ISREG(status.st_mode)) ::fchmod(file_, 0600);
    size_ = static_cast<std::uintmax_t>(status.st_size);
    return {};
}

Result<void> RotatingFile::rotate(Time now) {
    ::close(std::exchange(file_, -1));
    torn_ = false;  // where a file ends, so does its last line
    // Full twice within a millisecond: the later one takes the next name.
    std::error_code unknown;  // then renaming fails, too
    while (fs::exists(backup_path(options_.path, now), unknown)) now += std::chrono::milliseconds(1);
    if (::rename(options_.path.c_str(), backup_path(options_.path, now).c_str()) != 0)
        return file_error("cannot rename the audit log", options_.path);
    remove_old(now);
    return open();
}

void RotatingFile::remove_old(Time now) const {
    const auto stamps = backups_of(options_.path);
    const std::string oldest = options_.oldest.count() > 0 ? stamp(now - options_.oldest) : "";
    for (std::size_t i = 0; i < stamps.size(); ++i) {
        const bool too_many = options_.most_backups > 0 && i >= options_.most_backups;
        if (!too_many && stamps[i] >= oldest) continue;
        std::error_code ignored;  // it is tried again at the next rotation
        fs::remove(options_.path.parent_path() / (backup_prefix(options_.path) + stamps[i] + options_.path.extension().string()), ignored);
    }
}

Result<void> RotatingFile::write(std::string_view text) {
    if (torn_) {
        TRY_VOID(write_all("\n"));
        torn_ = false;
    }
    const std::uintmax_t before = size_;
    auto written = write_all(text);
    if (!written && size_ > before) cut_off_partial_line(text.substr(0, size_ - before));
    return written;
}

/// The disk may be full: the lines that are whole stay, the one that is not goes.
void RotatingFile::cut_off_partial_line(std::string_view written) {
    const std::size_t partial = written.size() - (written.rfind('\n') + 1);
    if (partial == 0) return;
    torn_ = ::ftruncate(file_, static_cast<off_t>(size_ - partial)) != 0;
    if (!torn_) size_ -= partial;
}

Result<void> RotatingFile::write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(file_, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return file_error("cannot write the audit log", options_.path);
        text.remove_prefix(static_cast<std::size_t>(count));
        size_ += static_cast<std::uintmax_t>(count);
    }
    return {};
}

}  // namespace porthole::apiserver
