#include "runtime/processes/windows_command_line.h"

namespace porthole {
namespace {

/// Backslashes are themselves unless a quotation mark follows: then each is doubled, and one more stands for the mark.
void append_argument(std::string& line, std::string_view argument) {
    if (!argument.empty() && argument.find_first_of(" \t\n\v\"") == argument.npos) {
        line += argument;
        return;
    }
    line += '"';
    std::size_t backslashes = 0;
    for (const char c : argument) {
        if (c == '"') line.append(backslashes + 1, '\\');
        backslashes = c == '\\' ? backslashes + 1 : 0;
        line += c;
    }
    line.append(backslashes, '\\');
    line += '"';
}

void append_program(std::string& line, std::string_view program) {
    const bool quoted = program.empty() || program.find_first_of(" \t") != program.npos;
    if (quoted) line += '"';
    line += program;
    if (quoted) line += '"';
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\v'; }

std::string take_program(std::string_view& line) {
    std::string program;
    bool quoted = false;
    while (!line.empty() && (quoted || !is_blank(line[0]))) {
        if (line[0] == '"') {
            quoted = !quoted;
        } else {
            program += line[0];
        }
        line.remove_prefix(1);
    }
    return program;
}

std::string take_argument(std::string_view& line) {
    std::string argument;
    bool quoted = false;
    while (!line.empty() && (quoted || !is_blank(line[0]))) {
        const std::size_t backslashes = std::min(line.find_first_not_of('\\'), line.size());
        line.remove_prefix(backslashes);
        const bool before_mark = line.starts_with('"');
        argument.append(before_mark ? backslashes / 2 : backslashes, '\\');
        if (!before_mark) {
            if (line.empty() || (!quoted && is_blank(line[0]))) continue;
            argument += line[0];
        } else if (backslashes % 2 == 1) {
            argument += '"';
        } else if (quoted && line.starts_with("\"\"")) {
            argument += '"';  // "" inside quotation marks is one mark
            line.remove_prefix(1);
        } else {
            quoted = !quoted;
        }
        line.remove_prefix(1);
    }
    return argument;
}

}  // namespace

std::string windows_command_line(std::span<const std::string> arguments) {
    std::string line;
    for (const std::string& argument : arguments) {
        if (&argument == &arguments[0]) {
            append_program(line, argument);
        } else {
            line += ' ';
            append_argument(line, argument);
        }
    }
    return line;
}

std::vector<std::string> split_windows_command_line(std::string_view line) {
    std::vector<std::string> arguments;
    const auto skip_blanks = [&line] {
        while (!line.empty() && is_blank(line[0])) line.remove_prefix(1);
    };
    skip_blanks();
    if (!line.empty()) arguments.push_back(take_program(line));
    for (skip_blanks(); !line.empty(); skip_blanks()) arguments.push_back(take_argument(line));
    return arguments;
}

}  // namespace porthole
