#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porthole {

/// A command line that CommandLineToArgvW and the C runtime split into exactly these arguments. The first one is the program, in which a
/// backslash is never special.
std::string windows_command_line(std::span<const std::string> arguments);

/// The arguments of a command line, by the C runtime's rules: `a.exe "b c" d\"e "f\\"` → a.exe, b c, d"e, f\ .
std::vector<std::string> split_windows_command_line(std::string_view line);

}  // namespace porthole
