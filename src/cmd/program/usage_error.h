#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The messages about arguments that a command does not accept: one line without the command's name.
namespace porthole::cmd {

/// " (did you mean X?)", X being `dashes` and the closest of `known`; "" if nothing is close.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known, const std::string& dashes = "");
/// About an argument that nothing has taken.
std::string unexpected(const CLI::App& app);
/// About a subcommand that is missing, or whose name is not one; `otherwise` if something else is missing.
std::string missing(const CLI::App& app, const std::string& otherwise);
/// About a value that is missing, no number, or too large for its option: CLI11's texts "--port: 1 required UINT missing" and "Could not
/// convert: --port = x" in other words. Other texts stay.
std::string wrong_value(const std::string& text);

}  // namespace porthole::cmd
