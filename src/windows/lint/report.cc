#include "windows/lint/report.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "base/version.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"
#include "windows/references.h"
#include "windows/support.h"

namespace porthole::windows::lint {
namespace {

using schema::Value;

constexpr std::size_t WidestExcerpt = 120;
constexpr const char *Red = "\033[1;31m", *Yellow = "\033[1;33m", *Blue = "\033[1;34m", *Plain = "\033[0m", *Bold = "\033[1m";

/// The words that each format has for an outcome.
struct Look {
    const char *color, *sarif, *github;
};
const Look& look_of(Outcome outcome) {
    static constexpr std::array<Look, 4> Looks = {
        {{Red, "error", "error"}, {Yellow, "warning", "warning"}, {Blue, "note", "notice"}, {Blue, "note", "notice"}}};
    return Looks[static_cast<std::size_t>(outcome)];
}

/// Without what a terminal would obey: the control characters of ASCII, and those from U+0080 to U+009F.
std::string printable(std::string_view text) {
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool is_wide_control = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (byte == '\t')
            made += ' ';
        else if (byte < 0x20 || byte == 0x7F || is_wide_control)
            made += '?';
        else
            made += text[i];
        i += is_wide_control;
    }
    return made;
}

std::string_view line_of(std::string_view text, std::size_t line) {
    for (; line > 1; --line) {
        const std::size_t newline = text.find('\n');
        if (newline == text.npos) return "";
        text.remove_prefix(newline + 1);
    }
    text = text.substr(0, text.find('\n'));
    return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The characters [from, from + count) of a line.
std::string_view characters_of(std::string_view line, std::size_t from, std::size_t count) {
    std::size_t begin = 0, seen = 0;
    while (begin < line.size() && (seen < from || continues_character(line[begin]))) seen += !continues_character(line[begin++]);
    std::size_t end = begin;
    for (seen = 0; end < line.size(); ++end) {
        if (!continues_character(line[end]) && seen++ == count) break;
    }
    return line.substr(begin, end - begin);
}

std::string painted(const std::string& text, const char* color, bool colors) { return colors ? color + text + Plain : text; }

/// The line with a mark below the field, or what is around it in a long line.
std::string excerpt(const Problem& problem, std::string_view text, bool color) {
    const Place& place = problem.place;
    if (place.line == 0) return "";
    const std::string number = std::to_string(place.line), margin(number.size(), ' ');
    const std::size_t first = place.column - 1 < WidestExcerpt / 2 ? 0 : place.column - 1 - WidestExcerpt / 4;
    const std::string shown = printable(characters_of(line_of(text, place.line), first, WidestExcerpt));
    const std::size_t indent = place.column - 1 - first;
    const std::size_t length = std::clamp<std::size_t>(place.length, 1, std::max<std::size_t>(WidestExcerpt - indent, 1));
    const std::string bar = painted("|", Blue, color);
    return " " + margin + " " + bar + "\n " + painted(number, Blue, color) + " " + bar + " " + shown + "\n " + margin + " " + bar + " " +
           std::string(indent, ' ') + painted(std::string(length, '^'), look_of(problem.rule->outcome).color, color) + "\n";
}

std::string text_of(const Problem& problem, const FileReport& file, bool color) {
    const std::string head = std::string(windows::text_of(problem.rule->outcome)) + "[" + std::string(problem.rule->code) + "]";
    const std::string margin(problem.place.line ? std::to_string(problem.place.line).size() : 1, ' ');
    const std::string bar = " " + margin + " " + painted("=", Blue, color) + " ";
    std::string text = painted(head, look_of(problem.rule->outcome).color, color) + ": " +
                       painted(printable(problem.field + ": " + problem.words), Bold, color) + "\n";
    text += " " + margin + painted("-->", Blue, color) + " " + printable(file.name);
    if (problem.place.line) text += ":" + std::to_string(problem.place.line) + ":" + std::to_string(problem.place.column);
    text += " (" + printable(problem.object) + ")\n" + excerpt(problem, file.text, color);
    text += bar + "remedy: " + printable(problem.remedy) + (problem.fixable ? " (--fix does)" : "") + "\n";
    if (!problem.because.empty()) text += bar + "for Windows: " + printable(problem.because) + "\n";
    return text + "\n";
}

/// How many of each outcome.
struct Counts {
    std::array<std::size_t, 4> of{};
    std::size_t objects = 0, files = 0, fixable = 0, unreadable = 0;
};
Counts count(const std::vector<FileReport>& files) {
    Counts counts{.files = files.size()};
    for (const FileReport& file : files) {
        counts.objects += file.checked.objects;
        counts.unreadable += !file.error.empty();
        for (const Problem& one : file.checked.problems) {
            ++counts.of[static_cast<std::size_t>(one.rule->outcome)];
            counts.fixable += one.fixable;
        }
    }
    return counts;
}

std::string amount(std::size_t number, const char* noun) { return std::to_string(number) + " " + noun + (number == 1 ? "" : "s"); }

std::string to_text(const std::vector<FileReport>& files, bool color) {
    std::string text;
    for (const FileReport& file : files)
        for (const Problem& one : file.checked.problems) text += text_of(one, file, color);
    const Counts counts = count(files);
    text += amount(counts.objects, "object") + " in " + amount(counts.files, "file") + ": " + std::to_string(counts.of[0]) + " refused, " +
            std::to_string(counts.of[1]) + " ignored, " + std::to_string(counts.of[2]) + " advice";
    if (counts.unreadable) text += "; " + amount(counts.unreadable, "file") + " cannot be read";
    if (counts.fixable) text += "; --fix removes " + std::to_string(counts.fixable);
    return text + "\n";
}

Value to_value(const Problem& problem, const FileReport& file) {
    return Value::object({{"file", file.name},
                          {"line", problem.place.line},
                          {"column", problem.place.column},
                          {"code", problem.rule->code},
                          {"effect", windows::text_of(problem.rule->outcome)},
                          {"object", problem.object},
                          {"field", problem.field},
                          {"message", problem.words},
                          {"remedy", problem.remedy},
                          {"because", problem.because},
                          {"fixable", problem.fixable},
                          {"help", anchor_of(*problem.rule)}});
}

Value to_value(const std::vector<FileReport>& files) {
    const Counts counts = count(files);
    Value problems = Value::array(), errors = Value::array();
    for (const FileReport& file : files) {
        if (!file.error.empty()) errors.as_array().push_back(Value::object({{"file", file.name}, {"message", file.error}}));
        for (const Problem& one : file.checked.problems) problems.as_array().push_back(to_value(one, file));
    }
    return Value::object({{"summary", Value::object({{"files", counts.files},
                                                     {"objects", counts.objects},
                                                     {"refused", counts.of[0]},
                                                     {"ignored", counts.of[1]},
                                                     {"advice", counts.of[2]}})},
                          {"problems", std::move(problems)},
                          {"errors", std::move(errors)}});
}

Value sarif_rule(const Rule& rule) {
    return Value::object({{"id", rule.code},
                          {"shortDescription", Value::object({{"text", std::string(rule.field) + ": " + std::string(rule.words)}})},
                          {"help", Value::object({{"text", rule.remedy}})},
                          {"defaultConfiguration", Value::object({{"level", look_of(rule.outcome).sarif}})}});
}

/// A path as a reference, with slashes.
std::string uri_of(std::string_view path) {
    constexpr std::string_view Digits = "0123456789ABCDEF", Kept = "-._~/:";
    std::string made;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c == '\\' ? '/' : c);
        const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (is_plain || Kept.contains(static_cast<char>(byte)))
            made += static_cast<char>(byte);
        else
            (made += '%').append({Digits[byte >> 4], Digits[byte & 15]});
    }
    return made;
}

Value sarif_result(const Problem& problem, const FileReport& file) {
    Value place = Value::object({{"artifactLocation", Value::object({{"uri", uri_of(file.name)}})}});
    if (problem.place.line)
        place["region"] = Value::object({{"startLine", problem.place.line},
                                         {"startColumn", problem.place.column},
                                         {"endColumn", problem.place.column + problem.place.length}});
    return Value::object(
        {{"ruleId", problem.rule->code},
         {"level", look_of(problem.rule->outcome).sarif},
         {"message", Value::object({{"text", problem.object + ": " + problem.field + ": " + problem.words + "; " + problem.remedy}})},
         {"locations", Value::array({Value::object({{"physicalLocation", std::move(place)}})})}});
}

std::string to_sarif(const std::vector<FileReport>& files) {
    Value known = Value::array(), results = Value::array(), notes = Value::array();
    for (const Rule& rule : rules()) known.as_array().push_back(sarif_rule(rule));
    for (const FileReport& file : files) {
        if (!file.error.empty())
            notes.as_array().push_back(
                Value::object({{"level", "error"}, {"message", Value::object({{"text", file.name + ": " + file.error}})}}));
        for (const Problem& one : file.checked.problems) results.as_array().push_back(sarif_result(one, file));
    }
    const bool successful = notes.as_array().empty();
    Value run = Value::object(
        {{"tool", Value::object(
                      {{"driver", Value::object({{"name", "porthole lint"}, {"version", PortholeVersion}, {"rules", std::move(known)}})}})},
         {"columnKind", "unicodeCodePoints"},
         {"invocations",
          Value::array({Value::object({{"executionSuccessful", successful}, {"toolExecutionNotifications", std::move(notes)}})})},
         {"results", std::move(results)}});
    return schema::to_pretty_json(Value::object({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                                                 {"version", "2.1.0"},
                                                 {"runs", Value::array({std::move(run)})}})) +
           "\n";
}

/// Escaped as workflow commands want it; a property more than the message.
std::string escaped(std::string_view text, bool is_property) {
    std::string made;
    for (const char c : text) {
        if (c == '%')
            made += "%25";
        else if (c == '\r')
            made += "%0D";
        else if (c == '\n')
            made += "%0A";
        else if (is_property && c == ':')
            made += "%3A";
        else if (is_property && c == ',')
            made += "%2C";
        else
            made += c;
    }
    return made;
}

std::string to_github(const std::vector<FileReport>& files) {
    std::string text;
    for (const FileReport& file : files) {
        const std::string name = escaped(file.name, true);
        if (!file.error.empty()) text += "::error file=" + name + "::" + escaped(file.error, false) + "\n";
        for (const Problem& one : file.checked.problems) {
            text += std::string("::") + look_of(one.rule->outcome).github + " file=" + name;
            if (one.place.line)
                text += ",line=" + std::to_string(one.place.line) + ",col=" + std::to_string(one.place.column) +
                        ",endColumn=" + std::to_string(one.place.column + one.place.length);
            text += ",title=" + std::string(one.rule->code) +
                    "::" + escaped(one.object + ": " + one.field + ": " + one.words + "; " + one.remedy, false) + "\n";
        }
    }
    return text;
}

}  // namespace

std::optional<Format> format_of(std::string_view name) {
    if (name == "text") return Format::Text;
    if (name == "json") return Format::Json;
    if (name == "yaml") return Format::Yaml;
    if (name == "sarif") return Format::Sarif;
    if (name == "github") return Format::GitHub;
    return std::nullopt;
}

std::string to_report(const std::vector<FileReport>& files, Format format, bool color) {
    switch (format) {
        case Format::Text:
            return to_text(files, color);
        case Format::Json:
            return schema::to_pretty_json(to_value(files)) + "\n";
        case Format::Yaml:
            return schema::to_yaml(to_value(files));
        case Format::Sarif:
            return to_sarif(files);
        case Format::GitHub:
            return to_github(files);
    }
    return "";
}

std::string explain(const Rule& rule) {
    const auto line = [](const char* name, std::string_view text) {
        return text.empty() ? std::string() : std::string(name) + std::string(text) + "\n";
    };
    return std::string(rule.code) + ": " + std::string(rule.field) + "\n\n" + line("effect:  ", windows::text_of(rule.outcome)) +
           line("why:     ", rule.words) + line("remedy:  ", rule.remedy) + line("event:   ", rule.reason) +
           line("since:   ", "Kubernetes " + std::string(rule.since)) + line("gate:    ", rule.gate) + line("guide:   ", anchor_of(rule));
}

std::string list_of_rules() {
    std::vector<Rule> sorted(rules().begin(), rules().end());
    std::ranges::sort(sorted, {}, &Rule::code);
    std::string text;
    for (const Rule& rule : sorted)
        text += std::string(rule.code) + "  " + std::string(windows::text_of(rule.outcome)) + "  " + std::string(rule.field) + ": " +
                std::string(rule.words) + "\n";
    return text;
}

bool is_failure(const Problem& problem, bool strict) { return strict || problem.rule->outcome == Outcome::Refused; }

}  // namespace porthole::windows::lint
