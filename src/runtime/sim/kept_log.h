#pragma once
#include <string>

#include "base/log.h"

namespace porthole::sim {

/// Appends each log line to `told`: the message and the values of its fields. `told` outlives it.
class KeptLog final : public LogSink {
public:
    explicit KeptLog(std::string& told) : told_(told) {}
    bool wants(LogLevel) const override { return true; }
    void write(LogLevel, std::string_view, std::string_view message, std::initializer_list<LogField> fields) override {
        told_ += message;
        for (const LogField& field : fields) told_ += " " + field.value;
        told_ += "\n";
    }

private:
    std::string& told_;
};

}  // namespace porthole::sim
