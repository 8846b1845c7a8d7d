#pragma once
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace porthole {

enum class LogLevel { Debug, Info, Warn, Error };

/// One key and value of a log line. Borrows the key, copies the value.
struct LogField {
    std::string_view key;
    std::string value;
    LogField(std::string_view key, std::string_view value) : key(key), value(value) {}
    LogField(std::string_view key, const char* value) : key(key), value(value) {}
    LogField(std::string_view key, const std::string& value) : key(key), value(value) {}
    LogField(std::string_view key, bool value) : key(key), value(value ? "true" : "false") {}
    template <std::integral T>
    LogField(std::string_view key, T value) : key(key), value(std::to_string(value)) {}
};

/// Where log lines go. Implementations are thread-safe: all loops and workers of a process share one.
class LogSink {
public:
    virtual ~LogSink() = default;
    virtual bool wants(LogLevel level) const = 0;
    virtual void write(LogLevel level, std::string_view component, std::string_view message, std::initializer_list<LogField> fields) = 0;
};

/// Writes to standard error.
std::shared_ptr<LogSink> make_stderr_sink(LogLevel lowest);
/// Writes to `path`, which stays below `limit` bytes; up to three old files are kept next to it.
std::shared_ptr<LogSink> make_file_sink(const std::string& path, LogLevel lowest, std::size_t limit = 10 << 20);
/// Discards everything: for tests.
std::shared_ptr<LogSink> make_null_sink();

/// A component's logger: a constant message plus key-value pairs. Copies share the sink and keep it alive. Any thread.
class Logger {
public:
    Logger(std::shared_ptr<LogSink> sink, std::string component) : sink_(std::move(sink)), component_(std::move(component)) {}

    /// The same sink under another component's name.
    Logger named(std::string component) const { return Logger(sink_, std::move(component)); }

    /// `log.info("pod bound", {{"pod", pod}, {"node", node}})`
    using Fields = std::initializer_list<LogField>;
    void debug(std::string_view message, Fields fields = {}) const { write(LogLevel::Debug, message, fields); }
    void info(std::string_view message, Fields fields = {}) const { write(LogLevel::Info, message, fields); }
    void warn(std::string_view message, Fields fields = {}) const { write(LogLevel::Warn, message, fields); }
    void error(std::string_view message, Fields fields = {}) const { write(LogLevel::Error, message, fields); }

private:
    void write(LogLevel level, std::string_view message, Fields fields) const {
        if (sink_->wants(level)) sink_->write(level, component_, message, fields);
    }
    std::shared_ptr<LogSink> sink_;
    std::string component_;
};

}  // namespace porthole
