#pragma once
#include <string>

#include "cmd/program/flags.h"
#include "cmd/program/progress.h"

namespace porthole::cmd {

/// The flags of a command that provisioning systems run, too.
struct ProgressFlags {
    std::string output;
    bool non_interactive = false;

    /// Must outlive `app`.
    void add_flags(CLI::App& app) {
        app.add_option("-o,--output", output, "json: each step as an object of JSON on a line of its own, for programs")
            ->check(CLI::IsMember({"json"}));
        app.add_flag("--non-interactive", non_interactive, "accepted; there is never a prompt");
    }
    ProgressStyle style() const { return output == "json" ? ProgressStyle::Json : ProgressStyle::Text; }
};

}  // namespace porthole::cmd
