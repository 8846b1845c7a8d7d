#include "cmd/program/usage_error.h"

#include <CLI/App.hpp>
#include <algorithm>

#include "base/closest_word.h"
#include "base/strings.h"

namespace porthole::cmd {
namespace {

/// The subcommand whose arguments were being read.
const CLI::App& last_of(const CLI::App& app) {
    const CLI::App* last = &app;
    while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
    return *last;
}

std::string first_left(const CLI::App& app) {
    const std::vector<std::string> left = app.remaining(true);
    return left.empty() ? "" : left.front();
}

std::vector<std::string> names_below(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(below->get_name());
    return names;
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known, const std::string& dashes) {
    const std::string meant = closest_word(word, known);
    return meant.empty() ? "" : " (did you mean " + dashes + meant + "?)";
}

std::string unexpected(const CLI::App& app) {
    const std::string first = first_left(app);
    if (!first.starts_with('-')) return "\"" + first + "\" is not expected";
    std::vector<std::string> known;
    for (const CLI::Option* option : last_of(app).get_options())
        known.insert(known.end(), option->get_lnames().begin(), option->get_lnames().end());
    const std::string name = first.substr(0, first.find('='));
    return "unknown option " + first + did_you_mean(std::string(trim(name, "-")), known, "--");
}

std::string missing(const CLI::App& app, const std::string& otherwise) {
    const CLI::App& last = last_of(app);
    const std::vector<std::string> known = names_below(last);
    if (known.empty()) return otherwise;
    const std::string first = first_left(app);
    if (first.empty() || first.starts_with('-')) return "a subcommand is required: " + join(known, ", ");
    const std::string meant = did_you_mean(first, known);
    return "unknown subcommand \"" + first + "\"" + (meant.empty() ? " (there are: " + join(known, ", ") + ")" : meant);
}

std::string wrong_value(const std::string& text) {
    constexpr std::string_view Begin = "Could not convert: ";
    if (const std::size_t colon = text.find(": 1 required "); colon != text.npos && text.ends_with(" missing"))
        return text.substr(0, colon) + " needs a value";
    const std::size_t equals = text.find(" = ");
    if (!text.starts_with(Begin) || equals == text.npos) return text;
    return "invalid value \"" + text.substr(equals + 3) + "\" for " + text.substr(Begin.size(), equals - Begin.size());
}

}  // namespace porthole::cmd
