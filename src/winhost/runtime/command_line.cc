#include "winhost/runtime/command_line.h"

#include "base/strings.h"

namespace porthole::winhost {

std::string quote_argument(const std::string& argument) {
    if (!argument.empty() && argument.find_first_of(" \t\n\v\"") == argument.npos) return argument;
    std::string quoted = "\"";
    std::size_t backslashes = 0;
    for (const char letter : argument) {
        if (letter == '\\') {
            ++backslashes;
            continue;
        }
        // Backslashes count double only before a quote.
        quoted.append(letter == '"' ? 2 * backslashes + 1 : backslashes, '\\');
        backslashes = 0;
        quoted.push_back(letter);
    }
    quoted.append(2 * backslashes, '\\');
    return quoted + "\"";
}

std::string join_command_line(const std::vector<std::string>& arguments) { return join(arguments, " ", quote_argument); }

}  // namespace porthole::winhost
