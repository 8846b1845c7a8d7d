#pragma once
#include <string>
#include <vector>

namespace porthole::winhost {

/// What launch.exe is told: one Windows program to run.
struct ProgramSpec {
    std::string command_line;            ///< exact, UTF-8
    std::string directory;               ///< "C:\app"; "" for the default
    std::vector<std::string> variables;  ///< "NAME=value", on top of the prefix' own; later ones win

    /// As launch.exe reads it. Names of our Unix environment that the program must not see are added as dropped.
    std::string encode() const;
    static ProgramSpec decode(const std::string& text);
};

}  // namespace porthole::winhost
