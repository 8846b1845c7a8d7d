#pragma once
#include <string>
#include <vector>

namespace porthole::winhost {

/// `argument` in a form that CommandLineToArgvW and the C runtime read as one argument: quoted only if necessary.
std::string quote_argument(const std::string& argument);
/// The arguments as one command line; the program's name follows the same rule.
std::string join_command_line(const std::vector<std::string>& arguments);

/// The input of launch.exe: one Windows program to run.
struct ProgramSpec {
    std::string command_line;            ///< exact, UTF-8
    std::string directory;               ///< "C:\app"; "" for the default
    std::vector<std::string> variables;  ///< "NAME=value", in addition to the prefix' own; later ones win
    bool ends_services = false;          ///< its end is the container's: services are stopped then

    /// As launch.exe reads it. Names of our Unix environment that the program must not see are added as dropped.
    std::string encode() const;
    /// For another program of the same container: without `ends_services`.
    static ProgramSpec decode(const std::string& text);
};

}  // namespace porthole::winhost
