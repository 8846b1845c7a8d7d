#pragma once
#include <string>
#include <vector>

namespace porthole::winhost {

/// `argument` so that CommandLineToArgvW and the C runtime read it as one: in quotes only where needed.
std::string quote_argument(const std::string& argument);
/// The arguments as one command line; the program's name follows the same rule.
std::string join_command_line(const std::vector<std::string>& arguments);

}  // namespace porthole::winhost
