#include "local_cluster/failing_start.h"

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

/// The last line, without the program's name, where it is no record of the log; "" otherwise.
std::string last_words_in(const fs::path& log) {
    constexpr std::streamoff Tail = 4096;
    std::ifstream file(log, std::ios::ate);
    file.seekg(std::max<std::streamoff>(file.tellg() - Tail, 0));
    std::string last;
    for (std::string line; std::getline(file, line);) last = std::move(line);
    constexpr std::string_view Program = "porthole: ";
    return last.starts_with(Program) ? last.substr(Program.size()) : "";
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
