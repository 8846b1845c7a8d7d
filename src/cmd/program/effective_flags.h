#pragma once
#include <CLI/App.hpp>
#include <map>
#include <string>

namespace porthole::cmd {

/// The value of each option of `app`, which has been parsed, by each of its long names: what was given, else its default. Lists are
/// joined by commas; a switch is "true" or "false". The default is what CLI11 was told (capture_default_str, default_str); an option
/// without one is "" when it is not given, and a switch "false".
std::map<std::string, std::string> effective_flags(const CLI::App& app);

}  // namespace porthole::cmd
