#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::cmd {

/// One sub-command of `porthole`, or one role of porthole.exe.
struct SubCommand {
    const char* name;
    /// `arguments` without the program's and the command's name. Returns the process's exit code.
    int (*run)(std::vector<std::string> arguments);
    const char* summary;  ///< for the list that --help prints; nullptr hides it
};

/// Whether every name is there once; lists of commands assert it when they are compiled.
constexpr bool are_distinct(std::span<const SubCommand> commands) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (std::string_view(commands[i].name) == commands[j].name) return false;
        }
    }
    return true;
}

/// nullptr if there is none.
inline const SubCommand* find_command(std::span<const SubCommand> commands, std::string_view name) {
    const auto found = std::ranges::find(commands, name, [](const SubCommand& command) { return std::string_view(command.name); });
    return found == commands.end() ? nullptr : &*found;
}

}  // namespace porthole::cmd
