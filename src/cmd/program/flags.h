#pragma once
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/program/usage_error.h"

namespace porthole::cmd {

/// Whether --data was given without a directory, as by a script with an unset variable: the default would be another cluster.
inline bool lacks_directory(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        const std::vector<std::string> given = option->results();
        if (option->check_name("--data") && std::ranges::find(given, "") != given.end()) return true;
    }
    return std::ranges::any_of(app.get_subcommands(), [](const CLI::App* below) { return lacks_directory(*below); });
}

/// Subcommands are described in their command's list by a phrase, and at the top of their own help by a sentence.
class HelpFormatter final : public CLI::Formatter {
public:
    std::string make_description(const CLI::App* app) const override {
        std::string text = app->get_description();
        if (text.empty()) return text;
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
        return text + (text.ends_with('.') ? "\n" : ".\n");
    }
};

inline void use_help_formatter(CLI::App& app) {
    app.formatter(std::make_shared<HelpFormatter>());
    for (CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) use_help_formatter(*below);
}

/// Parses arguments. Returns one line about the error, if any. Throws a CLI::ParseError with exit code 0 if help is requested.
inline std::optional<std::string> parse_arguments(CLI::App& app, std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
    try {
        app.parse(arguments);
        if (lacks_directory(app)) return "--data names no directory";
        return std::nullopt;
    } catch (const CLI::ExtrasError&) {
        return unexpected(app);
    } catch (const CLI::RequiredError& error) {
        return missing(app, error.what());
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) throw;
        return wrong_value(error.what());
    }
}

/// Parses a subcommand's arguments. Returns the exit code if the command must end here: after --help, or with one line about the error.
inline std::optional<int> parse_flags(CLI::App& app, std::vector<std::string> arguments) {
    app.name("porthole " + app.get_name());
    use_help_formatter(app);
    std::optional<std::string> why;
    try {
        why = parse_arguments(app, std::move(arguments));
    } catch (const CLI::ParseError& help) {
        return app.exit(help);
    }
    if (!why) return std::nullopt;
    std::string command = app.get_name();
    for (const CLI::App* below = &app; !below->get_subcommands().empty();) {
        below = below->get_subcommands().front();
        command += " " + below->get_name();
    }
    std::fprintf(stderr, "%s: %s; see `%s --help`\n", command.c_str(), why->c_str(), command.c_str());
    return 2;
}

}  // namespace porthole::cmd
