#pragma once
#include <CLI/App.hpp>
#include <map>
#include <string>

namespace porthole::cmd {

/// The value of each option of `app`, which has been parsed, by each of its long names: the given value, otherwise its default. Lists are
/// joined by commas; a switch is "true" or "false". The default is that of CLI11 (capture_default_str, default_str); an option without one
/// is "" if not given, and a switch "false".
std::map<std::string, std::string> effective_flags(const CLI::App& app);

}  // namespace porthole::cmd
