#pragma once
#include <string>

#include "cmd/program/flags.h"
#include "cmd/program/progress.h"

namespace porthole::cmd {

/// The flags of a command that provisioning systems run, too.
struct ProgressFlags {
    std::string output = "text";
    bool non_interactive = false;

    /// Must outlive `app`.
    void add_flags(CLI::App& app) {
        app.add_option("-o,--output", output, "text, or for programs each step as json (an object per line) or yaml (a document)")
            ->check(CLI::IsMember({"text", "json", "yaml"}))
            ->capture_default_str();
        app.add_flag("--non-interactive", non_interactive, "accepted; there is never a prompt");
    }
    ProgressStyle style() const {
        return output == "json" ? ProgressStyle::Json : output == "yaml" ? ProgressStyle::Yaml : ProgressStyle::Text;
    }
};

}  // namespace porthole::cmd
