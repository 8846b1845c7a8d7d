#pragma once
#include <string>
#include <vector>

/// Declares the function of every command: `int run_up(std::vector<std::string> arguments)` and so on.
namespace porthole::cmd {

#define COMMAND(name, function, summary) int function(std::vector<std::string> arguments);
#include "cmd/commands.def"
#undef COMMAND

}  // namespace porthole::cmd
