#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/log_file.h"
#include "base/terminal_text.h"

namespace porthole {
namespace {

constexpr std::size_t OldFiles = 3;

bool is_plain(std::string_view value) {
    for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i] == ' ' || value[i] == '"' || value[i] == '=' || control_size(value, i) > 0) return false;
    return !value.empty();
}

/// Values may be anybody's text: none begins a line, or says something to the terminal of whoever reads the log.
void append_value(std::string& line, std::string_view value) {
    if (is_plain(value)) {
        line += value;
        return;
    }
    line += '"';
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::size_t control = control_size(value, i);
        if (value[i] == '\n') {
            line += "\\n";
        } else if (control > 0) {
            constexpr std::string_view Digits = "0123456789abcdef";
            i += control - 1;
            const auto code = static_cast<unsigned char>(value[i]);
            line.append("\\x").append(1, Digits[code >> 4]).append(1, Digits[code & 15]);
        } else {
            if (value[i] == '"' || value[i] == '\\') line += '\\';
            line += value[i];
        }
    }
    line += '"';
}

class SpdlogSink final : public LogSink {
public:
    SpdlogSink(spdlog::sink_ptr sink, LogLevel lowest) : logger_("porthole", std::move(sink)), lowest_(lowest) {
        logger_.set_level(spdlog::level::debug);
        logger_.flush_on(spdlog::level::debug);
        logger_.set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %v", spdlog::pattern_time_type::utc);
    }
    bool wants(LogLevel level) const override { return level >= lowest_; }
    void write(LogLevel level, std::string_view component, std::string_view message, std::initializer_list<LogField> fields) override {
        std::string line(component);
        line += ": ";
        line += message;
        for (const LogField& field : fields) {
            line += ' ';
            line += field.key;
            line += '=';
            append_value(line, field.value);
        }
        constexpr spdlog::level::level_enum Levels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
        logger_.log(Levels[static_cast<int>(level)], line);
    }

private:
    spdlog::logger logger_;
    LogLevel lowest_;
};

class NullSink final : public LogSink {
    bool wants(LogLevel) const override { return false; }
    void write(LogLevel, std::string_view, std::string_view, std::initializer_list<LogField>) override {}
};

}  // namespace

std::shared_ptr<LogSink> make_stderr_sink(LogLevel lowest) {
    return std::make_shared<SpdlogSink>(std::make_shared<spdlog::sinks::stderr_sink_mt>(), lowest);
}

std::shared_ptr<LogSink> make_file_sink(const std::string& path, LogLevel lowest, std::size_t limit) {
    return std::make_shared<SpdlogSink>(make_rotating_sink(path, limit, OldFiles), lowest);
}

std::shared_ptr<LogSink> make_null_sink() { return std::make_shared<NullSink>(); }

}  // namespace porthole
