#include "local_cluster/processes/failing_start.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace porthole::local_cluster {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

/// The supervisor's pauses double from 0.2 s on: one that is longer than this comes after the sixth start.
constexpr Duration HopelessAfter = 5s;

std::uintmax_t size_of(const fs::path& file) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    return error ? 0 : size;
}

/// Whether the line is a record of the log, which begins with the time: "2026-01-02T03:04:05.678Z".
bool is_record(std::string_view line) { return line.size() > 23 && line[10] == 'T' && line[23] == 'Z'; }

/// What comes after the last record, without the program's name, on one line; "" if there is nothing.
std::string last_words_in(const fs::path& log) {
    constexpr std::streamoff Tail = 4096;
    constexpr std::string_view Program = "porthole: ";
    std::ifstream file(log, std::ios::ate);
    file.seekg(std::max<std::streamoff>(file.tellg() - Tail, 0));
    std::string words;
    for (std::string line; std::getline(file, line);) {
        if (is_record(line))
            words.clear();
        else if (line.starts_with(Program))
            words = line.substr(Program.size());
        else if (!words.empty())
            words += "; " + line;
    }
    return words;
}

}  // namespace

FailingStart::FailingStart(fs::path log, MonotonicTime now) : log_(std::move(log)), old_size_(size_of(log_)), since_(now) {}

bool FailingStart::is_hopeless(MonotonicTime now) {
    std::string words = size_of(log_) == old_size_ ? "" : last_words_in(log_);
    if (words != words_) since_ = now;
    words_ = std::move(words);
    return !words_.empty() && now - since_ > HopelessAfter;
}

}  // namespace porthole::local_cluster
