#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/files/file_system.h"

namespace porthole::winhost {

/// "C:\var\log", also with slashes, without a drive ("/var/log" is on C:), or "C:".
struct WindowsPath {
    char drive = 'c';                     ///< lower case
    std::vector<std::string> components;  ///< without "." and empty ones

    /// Errors: BadRequest for pipes and shares ("\\..."), relative paths, and paths with "..".
    static Result<WindowsPath> parse(std::string_view text);
    std::string text() const;  ///< "C:\var\log"
};

/// As Windows compares names: the letters' case does not count.
bool same_name(std::string_view a, std::string_view b);

/// Whether `text` names a pipe: "\\.\pipe\...", "\\?\pipe\...".
bool is_pipe_path(std::string_view text);

/// The path of `components` below the Linux directory `root`: each name in its existing spelling, whatever its case in `components`; names
/// that do not exist are not changed. Links are resolved, so the result contains none below `root`; one that leaves it results in
/// Forbidden. Containers may create a link there immediately afterwards: open the result by HeldTree.
Result<std::string> locate(FileSystem& files, const std::string& root, const std::vector<std::string>& components);

}  // namespace porthole::winhost
