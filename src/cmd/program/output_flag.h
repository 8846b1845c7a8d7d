#pragma once
#include <string>

#include "cmd/program/flags.h"
#include "schema/value.h"

namespace porthole::cmd {

/// `value` as "json" or "yaml", with its last line break.
std::string to_document(const schema::Value& value, const std::string& format);

/// -o of a command that prints results: text for people, or one document for programs.
struct OutputFlag {
    std::string format = "text";

    /// Must outlive `app`.
    void add_flags(CLI::App& app) {
        app.add_option("-o,--output", format, "text, or json or yaml for programs")
            ->check(CLI::IsMember({"text", "json", "yaml"}))
            ->capture_default_str();
    }
    bool is_text() const { return format == "text"; }
    /// Requires: !is_text().
    std::string document(const schema::Value& value) const { return to_document(value, format); }
};

}  // namespace porthole::cmd
