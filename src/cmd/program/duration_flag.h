#pragma once
#include "base/time/time.h"
#include "cmd/program/flags.h"
#include "runtime/event_loop.h"

namespace porthole::cmd {

/// "30s"; a flag of upstream's, with `duration` as default. It must be positive.
inline CLI::Option* add_duration(CLI::App& app, const char* name, Duration& duration, const char* help) {
    return app
        .add_option_function<std::string>(
            name,
            [name, &duration](const std::string& text) {
                const auto parsed = parse_duration(text);
                if (!parsed || *parsed <= Duration::zero())
                    throw CLI::ValidationError(name, "a duration such as 30s is expected, not " + text);
                duration = *parsed;
            },
            help)
        ->default_str(format_duration(duration));
}

}  // namespace porthole::cmd
