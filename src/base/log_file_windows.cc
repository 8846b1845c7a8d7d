#include "base/log_file.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <windows.h>

#include <mutex>

#include "base/wide_windows.h"

namespace porthole {
namespace {

/// The file is open only while a line is written. Windows does not let an open file be renamed, and many readers (Wine's `type` and
/// `copy`, editors) do not open one that somebody else may write to.
class RotatingSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    RotatingSink(const std::string& path, std::size_t limit, std::size_t old_files)
        : path_(to_wide(path)), limit_(limit), old_files_(old_files) {}

private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        const auto size = static_cast<DWORD>(line.size());
        HANDLE file = open();
        LARGE_INTEGER before{};
        if (file != INVALID_HANDLE_VALUE && GetFileSizeEx(file, &before) && before.QuadPart > 0 &&
            static_cast<std::uint64_t>(before.QuadPart) + size > limit_) {
            CloseHandle(file);
            rotate();
            file = open();
        }
        // A program does not end because its log cannot be written just now.
        if (file == INVALID_HANDLE_VALUE) return;
        DWORD written = 0;
        WriteFile(file, line.data(), size, &written, nullptr);
        CloseHandle(file);
    }
    void flush_() override {}

    HANDLE open() const {
        return CreateFileW(path_.c_str(), FILE_APPEND_DATA | FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                           nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
    }
    /// "C:\k\logs\kubelet.log" and 2: "C:\k\logs\kubelet.2.log".
    std::wstring old_name(std::size_t number) const {
        if (number == 0) return path_;
        const std::size_t name = path_.find_last_of(L"\\/") + 1, dot = path_.rfind(L'.');
        const std::size_t end = dot == path_.npos || dot <= name ? path_.size() : dot;
        return path_.substr(0, end) + L"." + std::to_wstring(number) + path_.substr(end);
    }
    /// One that somebody holds open stays; the log then goes on beyond its limit rather than lose anything.
    void rotate() const {
        for (std::size_t number = old_files_; number > 0; --number)
            MoveFileExW(old_name(number - 1).c_str(), old_name(number).c_str(), MOVEFILE_REPLACE_EXISTING);
    }

    const std::wstring path_;
    const std::size_t limit_, old_files_;
};

}  // namespace

std::shared_ptr<spdlog::sinks::sink> make_rotating_sink(const std::string& path, std::size_t limit, std::size_t old_files) {
    return std::make_shared<RotatingSink>(path, limit, old_files);
}

}  // namespace porthole
