#include "winhost/runtime/program_spec.h"

#include "base/strings.h"

namespace porthole::winhost {
namespace {

constexpr const char* Hidden[] = {
    "HOME",        "LANG",          "SHLVL",       "WINEPREFIX",   "WINESERVER",     "WINEDEBUG",        "WINELOADER", "WINEDATADIR",
    "WINEHOMEDIR", "WINECONFIGDIR", "WINEDLLDIR0", "WINEUSERNAME", "WINEUSERLOCALE", "WINEDLLOVERRIDES", "CLIENTNAME", "winsysdir"};

void add(std::string& text, std::string_view key, std::string_view value) {
    text.append(key).push_back('\0');
    text.append(value).push_back('\0');
}

}  // namespace

std::string ProgramSpec::encode() const {
    std::string text;
    add(text, "command", command_line);
    add(text, "directory", directory);
    if (ends_services) add(text, "services", "end");
    for (const char* name : Hidden) add(text, "drop", name);
    for (const std::string& variable : variables) add(text, "variable", variable);
    return text;
}

ProgramSpec ProgramSpec::decode(const std::string& text) {
    ProgramSpec spec;
    std::vector<std::string> words;
    for (std::size_t start = 0, end; (end = text.find('\0', start)) != text.npos; start = end + 1)
        words.push_back(text.substr(start, end - start));
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        if (words[i] == "command") spec.command_line = words[i + 1];
        if (words[i] == "directory") spec.directory = words[i + 1];
        if (words[i] == "variable") spec.variables.push_back(words[i + 1]);
    }
    return spec;
}

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
