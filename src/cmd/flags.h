#pragma once
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace porthole::cmd {

/// Parses a sub-command's arguments. Yields the exit code when the command must end here: after --help, or with one line
/// about what is wrong.
inline std::optional<int> parse_flags(CLI::App& app, std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
        app.parse(arguments);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        std::fprintf(stderr, "porthole %s: %s; `porthole %s --help` shows what it takes\n", app.get_name().c_str(), error.what(),
                     app.get_name().c_str());
        return 2;
    }
}

}  // namespace porthole::cmd
