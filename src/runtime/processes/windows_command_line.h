#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porthole {

/// One command line from which CommandLineToArgvW and the C runtime make exactly these arguments again. The first one is
/// the program, in which a backslash is never special.
std::string windows_command_line(std::span<const std::string> arguments);

/// The arguments that a program makes of its command line, by the C runtime's rules:
/// `a.exe "b c" d\"e "f\\"` → a.exe, b c, d"e, f\ .
std::vector<std::string> split_windows_command_line(std::string_view line);

}  // namespace porthole
