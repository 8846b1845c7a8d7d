#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "windows/lint/check.h"

namespace porthole::windows::lint {

/// The findings of one text.
struct FileReport {
    std::string name;   ///< a path, or "-"
    std::string text;   ///< for excerpts
    std::string error;  ///< why it cannot be read; then nothing else is set
    Checked checked;
};

/// How a report is written.
enum class Format { Text, Json, Yaml, Sarif, GitHub };
std::optional<Format> format_of(std::string_view name);

/// The whole report. Texts of manifests cannot control a terminal or the format. `color` is for Text.
std::string to_report(const std::vector<FileReport>& files, Format format, bool color = false);

/// The output of `--explain` for a rule.
std::string explain(const Rule& rule);
/// One line for each rule.
std::string list_of_rules();

/// Whether a problem makes the command fail: one of a refused field does, and with `strict` every one.
bool is_failure(const Problem& problem, bool strict);

}  // namespace porthole::windows::lint
