#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole {

/// The clock changes of a time zone: the content of a TZif file (RFC 8536), as in /usr/share/zoneinfo.
class TimeZone {
public:
    using Seconds = std::chrono::sys_seconds;

    /// Error: BadRequest.
    static Result<TimeZone> parse(std::string_view file);

    /// The offset of local time from UTC at that moment.
    std::chrono::seconds offset_at(Seconds time) const;

private:
    /// "M3.5.0/2": a day of a month by week and weekday (5 is the last week), and the local time of the change.
    struct ChangeRule {
        unsigned month = 0, week = 0, weekday = 0;
        std::chrono::seconds at{};
        Seconds in(std::chrono::year year, std::chrono::seconds offset) const;
    };
    /// "CET-1CEST,M3.5.0,M10.5.0/3": the rule after the last change that the file lists.
    struct Rule {
        std::chrono::seconds standard{}, summer{};
        std::optional<ChangeRule> begins, ends;  ///< of summer time; both or none
    };
    struct Change {
        std::int64_t time = 0;
        std::int32_t offset = 0;
    };
    friend struct TimeZoneParser;
    std::chrono::seconds by_rule(Seconds time) const;

    std::vector<Change> changes_;  ///< ascending
    std::int32_t before_ = 0;      ///< the offset before the first change
    std::optional<Rule> rule_;
};

}  // namespace porthole
